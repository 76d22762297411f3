#!/bin/sh
# Makes the links of one run on their node: links.sh NAME FOLDER. Reads FOLDER/links, one line each:
#   address 10.0.0.1 | port west 7700 24790 | peer west MAC 10.0.0.2 24789
#   try netem delay 1ms | demanded
# and FOLDER/wan.json for flowsweep-wan, or the batches FOLDER/netem.ip, .bridge and .tc. Uses netem if
# there are `try` lines and the kernel has their disciplines; else flowsweep-wan, unless netem is
# demanded. Prints `ready BACKEND NODE`, then obeys lines from stdin: `beat`, `stop`. The end of stdin
# is `stop` too.
folder=$2
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
LC_ALL=C
export PATH LC_ALL
umask 077

# Prints FOUND, EXPECTED, REMEDY in one line that flowsweep parses.
fail() {
    trap - EXIT
    leave
    printf 'error: %s\t%s\t%s\n' "$1" "$2" "$3"
    exit 2
}
rights="root on the nodes, testbed: {sudo: true}, or {emulate: false}"

# Bridges and disciplines have their own namespace, whose frames the node's firewall does not see.
space=flowsweep-$(uname -n)
ours() {
    ip netns exec $space "$@"
}
disciplined() {
    sed -n 's/^qdisc add dev \([^ ]*\) root .*/\1/p' netem.tc
}

leave() {
    [ -z "$wan" ] || kill -TERM "$wan" 2>/dev/null
    [ -z "$wan" ] || wait "$wan"
    code=$?
    [ ! -e /run/netns/$space ] || ip netns del $space
    for one in $(sed -n 's/^port \([A-Za-z0-9_-]*\) .*/\1/p' links); do
        ip link del "wan-$one" 2>/dev/null
        ip link del "vx-$one" 2>/dev/null
    done
    [ -z "$gro" ] || ethtool -K "$under" gro on 2>/dev/null
    wan= gro=
    return $code
}

# Prints what this kernel lacks for netem; nothing if it has all.
lacking() {
    sed -n 's/^try //p' links | while read -r kind arguments; do
        command -v tc >/dev/null || {
            echo "no tc"
            return
        }
        ours tc qdisc replace dev lo root "$kind" $arguments 2>/dev/null || {
            echo "no $kind"
            return
        }
    done
    ours tc qdisc del dev lo root 2>/dev/null
}

cd "$folder" || exit 2
wan= gro= backend=flowsweep-wan
leave
trap leave EXIT
trap 'exit 1' TERM INT HUP
trap '' PIPE
rm -f lacks netem.stats
if grep -q '^try ' links; then
    said=$(ip netns add $space 2>&1) ||
        fail "no network namespace can be made: $said" "the right to make one" "$rights"
    lacks=$(lacking)
    if [ -z "$lacks" ]; then
        backend=netem
    else
        ip netns del $space
        ! grep -q '^demanded' links ||
            fail "its kernel has $lacks" "a kernel with sch_netem" "emulation: {backend: flowsweep-wan}"
        echo "$lacks" >lacks
    fi
fi

# Makes a site's tunnel: for flowsweep-wan, or in the namespace of the bridges.
tunnel() { # tunnel NAME NUMBER PORT
    ip link add "$1" type vxlan id "$2" dstport "$3" local "$address" dev "$under" nolearning || return
    if [ $backend = netem ]; then
        ip link set "$1" netns $space
    else
        [ ! -e /proc/sys/net/ipv6/conf/"$1" ] || echo 1 >/proc/sys/net/ipv6/conf/"$1"/disable_ipv6
        ip link set "$1" up
    fi
}
if [ $backend = netem ]; then
    end=vx on=ours
    ours sh -c 'for one in all default; do
        [ ! -e /proc/sys/net/ipv6/conf/$one ] || echo 1 >/proc/sys/net/ipv6/conf/$one/disable_ipv6
    done'
else
    end=wan on=
fi
while read -r key one two three four; do
    case $key in
    address)
        under=$(ip -o -4 addr show | awk -v a="$one" '{split($4, n, "/")} n[1] == a {print $2; exit}')
        [ -n "$under" ] || fail "no interface has the address $one" "one that has it" "testbed.network"
        address=$one
        # With GRO, frames are merged before they leave the tunnel.
        if ethtool -k "$under" 2>/dev/null | grep -q '^generic-receive-offload: on$'; then
            ethtool -K "$under" gro off 2>/dev/null && gro=yes
        fi
        ;;
    port)
        said=$(tunnel "$end-$one" "$two" "$three" 2>&1) ||
            fail "no tunnel can be made: $said" "the right to make one" "$rights"
        $on ethtool -K "$end-$one" tx off tso off gso off gro off >/dev/null 2>&1
        ;;
    peer)
        said=$($on bridge fdb add "$two" dev "$end-$one" dst "$three" port "$four" self permanent 2>&1) ||
            fail "$end-$one cannot be told of $two: $said" "the right to do so" "$rights"
        ;;
    esac
done <links

if [ $backend = netem ]; then
    for program in ip bridge tc; do
        said=$(ours $program -batch netem.$program 2>&1) ||
            fail "netem: $program failed: $(echo "$said" | tr '\n\t' '  ')" "links of the kernel" \
                "emulation: {backend: flowsweep-wan}"
    done
    # Without offloads, the disciplines count frames as on the wire.
    for one in $(disciplined); do
        ours ethtool -K "$one" tx off tso off gso off gro off >/dev/null 2>&1
    done
else
    rm -f wan.ready wan.log wan.sock wan.stats.json
    dies=
    setpriv --pdeathsig TERM true 2>/dev/null && dies="setpriv --pdeathsig TERM"
    $dies ./flowsweep-wan --config wan.json --control "$folder/wan.sock" --stats wan.stats.json \
        >wan.ready 2>wan.log &
    wan=$!
    tries=0
    until grep -qs ready wan.ready; do
        if ! kill -0 $wan 2>/dev/null || [ $tries -ge 200 ]; then
            fail "flowsweep-wan did not start: $(tail -n 4 wan.log | tr '\n\t' '  ')" "ready" "$rights"
        fi
        sleep 0.05
        tries=$((tries + 1))
    done
fi

echo "ready $backend $(uname -n)"
while read -r command; do
    case $command in
    beat)
        [ $backend = netem ] || kill -0 $wan 2>/dev/null ||
            fail "flowsweep-wan has ended: $(tail -n 4 wan.log | tr '\n\t' '  ')" "running" ""
        echo alive
        ;;
    stop)
        if [ $backend = netem ]; then
            for one in $(disciplined); do
                echo "$one $(ours tc -s -j qdisc show dev "$one" | tr -d '\n')"
            done >netem.stats
        fi
        leave
        echo "stopped $?"
        exit 0
        ;;
    esac
done
exit 1
