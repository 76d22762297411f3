##! Connections as flowsweep's own parser counts them, and what conn.log lacks.
##!
##! No time-out splits a TCP connection. A UDP flow ends after 60 s of silence. Beside Zeek's logs
##! this script writes the following ones, each with a switch:
##!
##!   flowsweep_directions.log   first and last packet of each direction of a connection
##!   flowsweep_intervals.log    gaps between its packets, counted in buckets of at most 1/64
##!   flowsweep_messages.log     application messages of TCP, by two simple signs of their ends
##!   flowsweep_bins.log         packets and octets between two addresses, in bins of time
##!
##! The script looks at every packet, and that is its cost; tests/bench/zeek.py measures each switch.

@load base/protocols/conn

module Flowsweep;

export {
	redef enum Log::ID += { DIRECTIONS_LOG, INTERVALS_LOG, MESSAGES_LOG, BINS_LOG };

	## First and last packet of each direction.
	const directions = T &redef;
	## Gaps between packets.
	const intervals = T &redef;
	## Application messages.
	const messages = T &redef;
	## Packets and octets over time.
	const bins = T &redef;
	## Length of a bin.
	const bin = 10msec &redef;

	## One direction of a connection.
	type Direction: record {
		uid: string &log;
		## Whether the originator sent it.
		is_orig: bool &log;
		first: time &log;
		last: time &log;
		packets: count &log;
	};

	## Gaps of one direction that fall into one bucket.
	type Gaps: record {
		uid: string &log;
		is_orig: bool &log;
		## Shortest gap of the bucket in nanoseconds.
		low_ns: count &log;
		## The first gap above the bucket in nanoseconds.
		high_ns: count &log;
		gaps: count &log;
	};

	## New octets of one TCP direction that were probably written together. Octets that fill a hole
	## below the highest one so far are left out.
	type Message: record {
		uid: string &log;
		is_orig: bool &log;
		first: time &log;
		last: time &log;
		bytes: count &log;
		packets: count &log;
		## Why it ends there: `turn` (the other side sent octets), `short` (its last segment has
		## PUSH and less than the longest payload so far), `close` (FIN or RST), `open` (the
		## capture or the connection ends).
		evidence: string &log;
	};

	## What one address sent to another in a bin.
	type Bin: record {
		## Begin of the bin: a multiple of its length since 1970.
		ts: time &log;
		src: addr &log;
		dst: addr &log;
		packets: count &log;
		## Octets on the wire, with link header.
		wire_bytes: count &log;
		payload_bytes: count &log;
	};
}

# No time-out ends a TCP connection.
redef tcp_inactivity_timeout = 0secs;
redef tcp_attempt_delay = 0secs;
redef tcp_connection_linger = 0secs;
redef udp_inactivity_timeout = 60secs;
redef icmp_inactivity_timeout = 60secs;

## What was seen of one direction.
type Side: record {
	first: time;
	last: time;
	packets: count &default=0;
	## Gaps by the shortest gap of their bucket.
	gaps: table[count] of count &default=table();
	## Behind the highest octet so far, as a sequence number of 32 bits.
	next_seq: count &optional;
	longest: count &default=0;
	ends_short: bool &default=F;
	message: Message &optional;
};

redef record connection += {
	flowsweep_orig: Side &optional;
	flowsweep_resp: Side &optional;
};

global current_bin: time = double_to_time(0.0);
global in_bin: table[addr, addr] of Bin;

const SEQUENCE_SPACE = 4294967296;
const LN_2 = 0.6931471805599453;
const HALF_SPACE = 2147483648;
const UDP_NUMBER = 17;
const UDP_HEADER = 8;

## Widths of buckets: 1, 2, 4, ... nanoseconds.
global widths: vector of count;

## Width of the bucket of a gap. Gaps below 128 ns have a bucket each; above, each power of two
## has 64 buckets.
function bucket_width(ns: count): count
	{
	if ( ns < 128 )
		return 1;
	local power = double_to_count(floor(ln(ns) / LN_2)) - 6;
	# A logarithm beside a whole number may be a rounding error on its other side.
	if ( ns >= 128 * widths[power] )
		++power;
	else if ( ns < 64 * widths[power] )
		--power;
	return widths[power];
	}

function count_gap(side: Side, t: time)
	{
	local passed = interval_to_double(t - side$last);
	# double_to_count rounds to the nearest microsecond, which is the resolution of Zeek's times.
	local ns = passed > 0.0 ? 1000 * double_to_count(passed * 1e6) : 0;
	local width = bucket_width(ns);
	local low = ns / width * width;
	if ( low in side$gaps )
		++side$gaps[low];
	else
		side$gaps[low] = 1;
	}

function end_message(side: Side, evidence: string)
	{
	if ( ! side?$message )
		return;
	side$message$evidence = evidence;
	Log::write(MESSAGES_LOG, side$message);
	delete side$message;
	side$ends_short = F;
	}

## Counts the octets of a segment that were not seen before.
function new_octets(side: Side, seq: count, length: count): count
	{
	local end = (seq + length) % SEQUENCE_SPACE;
	if ( ! side?$next_seq )
		{
		side$next_seq = end;
		return length;
		}
	local ahead = (end + SEQUENCE_SPACE - side$next_seq) % SEQUENCE_SPACE;
	if ( ahead == 0 || ahead >= HALF_SPACE )
		return 0;
	side$next_seq = end;
	return ahead < length ? ahead : length;
	}

function take_segment(c: connection, is_orig: bool, side: Side, t: time, flags: string, seq: count,
                      length: count)
	{
	local octets = 0;
	if ( length > 0 )
		octets = new_octets(side, seq, length);
	if ( octets > 0 )
		{
		if ( is_orig && c?$flowsweep_resp )
			end_message(c$flowsweep_resp, "turn");
		else if ( ! is_orig && c?$flowsweep_orig )
			end_message(c$flowsweep_orig, "turn");
		if ( side$ends_short )
			end_message(side, "short");
		if ( ! side?$message )
			side$message = Message($uid=c$uid, $is_orig=is_orig, $first=t, $last=t, $bytes=0,
			                       $packets=0, $evidence="");
		local message = side$message;
		message$last = t;
		message$bytes += octets;
		++message$packets;
		side$ends_short = "P" in flags && length < side$longest;
		if ( length > side$longest )
			side$longest = length;
		}
	if ( "F" in flags || "R" in flags )
		end_message(side, "close");
	}

function write_bins()
	{
	for ( [src, dst], one in in_bin )
		Log::write(BINS_LOG, one);
	in_bin = table();
	}

function bin_of(t: time, src: addr, dst: addr): Bin
	{
	local length = interval_to_double(bin);
	# A time on the border of two bins may be a rounding error below it.
	local begin = double_to_time(floor(time_to_double(t) / length + 1e-9) * length);
	if ( begin != current_bin )
		{
		write_bins();
		current_bin = begin;
		}
	if ( [src, dst] !in in_bin )
		in_bin[src, dst] = Bin($ts=begin, $src=src, $dst=dst, $packets=0, $wire_bytes=0,
		                       $payload_bytes=0);
	return in_bin[src, dst];
	}

event new_packet(c: connection, p: pkt_hdr)
	{
	local src = p?$ip ? p$ip$src : p$ip6$src;
	local t = network_time();
	if ( directions || intervals || messages )
		{
		local is_orig = src == c$id$orig_h;
		# The port tells the direction where a host talks to itself.
		if ( is_orig && c$id$orig_h == c$id$resp_h && p?$tcp )
			is_orig = p$tcp$sport == c$id$orig_p;
		local is_first = is_orig ? ! c?$flowsweep_orig : ! c?$flowsweep_resp;
		if ( is_first && is_orig )
			c$flowsweep_orig = Side($first=t, $last=t);
		else if ( is_first )
			c$flowsweep_resp = Side($first=t, $last=t);
		local side = is_orig ? c$flowsweep_orig : c$flowsweep_resp;
		++side$packets;
		if ( intervals && ! is_first )
			count_gap(side, t);
		if ( t > side$last )
			side$last = t;
		}
	if ( bins )
		{
		local one = bin_of(t, src, p?$ip ? p$ip$dst : p$ip6$dst);
		++one$packets;
		one$wire_bytes += get_current_packet_header()$l2$len;
		# Zeek leaves the UDP header out where the capture cut the packet.
		if ( p?$ip && p$ip$p == UDP_NUMBER && p$ip$len >= p$ip$hl + UDP_HEADER )
			one$payload_bytes += p$ip$len - p$ip$hl - UDP_HEADER;
		else if ( p?$ip6 && p?$udp && p$udp$ulen >= UDP_HEADER )
			one$payload_bytes += p$udp$ulen - UDP_HEADER;
		}
	}

# This event tells the length of a segment also where the capture cut it; pkt_hdr does not.
event tcp_packet(c: connection, is_orig: bool, flags: string, seq: count, ack: count, len: count,
                 payload: string)
	{
	local t = network_time();
	if ( messages && is_orig && c?$flowsweep_orig )
		take_segment(c, is_orig, c$flowsweep_orig, t, flags, seq, len);
	else if ( messages && ! is_orig && c?$flowsweep_resp )
		take_segment(c, is_orig, c$flowsweep_resp, t, flags, seq, len);
	if ( bins && len > 0 )
		{
		local one = is_orig ? bin_of(t, c$id$orig_h, c$id$resp_h)
		                    : bin_of(t, c$id$resp_h, c$id$orig_h);
		one$payload_bytes += len;
		}
	}

function write_side(c: connection, is_orig: bool, side: Side)
	{
	end_message(side, "open");
	if ( directions )
		Log::write(DIRECTIONS_LOG, Direction($uid=c$uid, $is_orig=is_orig, $first=side$first,
		                                     $last=side$last, $packets=side$packets));
	for ( low, times in side$gaps )
		Log::write(INTERVALS_LOG, Gaps($uid=c$uid, $is_orig=is_orig, $low_ns=low,
		                               $high_ns=low + bucket_width(low), $gaps=times));
	}

event connection_state_remove(c: connection)
	{
	if ( c?$flowsweep_orig )
		write_side(c, T, c$flowsweep_orig);
	if ( c?$flowsweep_resp )
		write_side(c, F, c$flowsweep_resp);
	}

event zeek_init()
	{
	local width = 1;
	while ( |widths| < 57 )
		{
		widths += width;
		width = 2 * width;
		}
	if ( directions )
		Log::create_stream(DIRECTIONS_LOG, Log::Stream($columns=Direction, $path="flowsweep_directions"));
	if ( intervals )
		Log::create_stream(INTERVALS_LOG, Log::Stream($columns=Gaps, $path="flowsweep_intervals"));
	if ( messages )
		Log::create_stream(MESSAGES_LOG, Log::Stream($columns=Message, $path="flowsweep_messages"));
	if ( bins )
		Log::create_stream(BINS_LOG, Log::Stream($columns=Bin, $path="flowsweep_bins"));
	}

event zeek_done() &priority=-10
	{
	if ( bins )
		write_bins();
	}
