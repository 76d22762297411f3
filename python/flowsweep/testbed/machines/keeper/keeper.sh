#!/bin/sh
# One machine during one run: keeper.sh NAME FOLDER. Reads FOLDER/settings, one `key value` a line:
#   interface eth1 | address 10.0.0.1 | offload tso off | sysctl net.ipv4.tcp_rmem 4096 65536 65536
#   congestion reno | capture ARGUMENTS of flowsweep-capture | filter BPF
#   overlay 7700 24789 10.0.0.1 MAC 10.77.1.1/16 | peer MAC 10.77.1.2 10.0.0.2 24789
# `overlay` makes the interface exp0, an end of VXLAN tunnels to the peers; it goes afterwards.
# Prints `ready INTERFACE NAME`, then obeys lines from stdin: `beat`, `counters`, `tcp`, `stop`. The end
# of stdin is `stop` too.
#
# keeper.sh --prepare FOLDER makes the folder or checks it, removes what an earlier run left, and
# prints the checksum of the agent that is there.
#
# It may run as root, and the folder may lie where everybody may write: it uses no folder or file
# that anybody but root and its own user can change.
name=$1
folder=$2
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
LC_ALL=C
export PATH LC_ALL
umask 077
set -C # `>` makes a new file and follows no link

# FOUND, EXPECTED, REMEDY: in one line that flowsweep takes apart.
fail() {
    printf 'error: %s\t%s\t%s\n' "$1" "$2" "$3"
    exit 2
}

me=$(id -u)
# Within a user namespace, root of the machine has this number.
unmapped=$me
read -r _ _ users </proc/self/uid_map
case $users in '' | 4294967295) ;; *) unmapped=$(cat /proc/sys/kernel/overflowuid) ;; esac

# The file belongs to root, to this user, or to the user who became root by sudo.
is_ours() {
    case $(stat -c %u "$1") in
    0 | "$me" | "${SUDO_UID:-$me}" | "$unmapped") return 0 ;;
    esac
    return 1
}

# Why somebody else may change what has this name; nothing if nobody may. Links are judged by their
# owner: only that of a link can change it.
fault() {
    is_ours "$1" || {
        echo "$1 is of user $(stat -c %U "$1")"
        return
    }
    [ -L "$1" ] && return
    mode=$(stat -c %a "$1")
    case $mode in
    *[2367]? | *[2367])
        # In a sticky folder nobody can rename or remove what is not his own.
        case $mode in [1357]???) [ -d "$1" ] && return ;; esac
        echo "others may write to $1 (mode $mode)"
        ;;
    esac
}

elsewhere="name a folder of your own with testbed.folder, or remove that one as the user whose it is"

# Makes the folder where it lacks, and every folder above it. Nobody else can put another in its
# place then.
own_folder() {
    [ -n "$1" ] || return 0
    own_folder "${1%/*}"
    [ -e "$1" ] || [ -L "$1" ] || mkdir "$1" 2>/dev/null || [ -d "$1" ] ||
        fail "$1 cannot be made: $(mkdir "$1" 2>&1)" "a folder that this user may make" "$elsewhere"
    said=$(fault "$1")
    [ -z "$said" ] ||
        fail "$said" "a folder of this user or of root, to which nobody else may write" "$elsewhere"
}

private_folder() {
    own_folder "$1"
    [ -d "$1" ] && [ ! -L "$1" ] ||
        fail "$1 is no folder" "a folder of this user alone" "$elsewhere"
    # Where a link is on the way: the folders above its target too.
    own_folder "$(cd -P "$1" && pwd -P)"
    case $(stat -c %a "$1") in
    *00) ;;
    *[2367]? | *[2367])
        fail "others may write to $1 (mode $(stat -c %a "$1"))" "a folder of this user alone (mode 700)" \
            "$elsewhere"
        ;;
    *) chmod 700 "$1" || fail "$1 cannot be changed" "a folder of this user alone" "$elsewhere" ;;
    esac
}

# A file that is read or started.
own_file() {
    [ -f "$1" ] && [ ! -L "$1" ] || fail "$1 is no file" "a file that flowsweep put there" "$elsewhere"
    said=$(fault "$1")
    [ -z "$said" ] || fail "$said" "a file that only this user and root may change" "rm $1"
}

private_folder "$folder"
cd "$folder" || fail "$folder cannot be entered" "a folder of this user" "$elsewhere"

if [ "$name" = --prepare ]; then
    rm -f -- *.pcap.zst* *.capture.json app.json serve.pid prog-*.sh
    [ ! -e flowsweep-capture ] || own_file flowsweep-capture
    sha256sum flowsweep-capture 2>/dev/null
    exit 0
fi

# What must be put back lies where only root may write, if it is root who changes it. Settings are
# those of a network namespace.
state=$folder/state
[ "$me" != 0 ] || state=/run/flowsweep/net-$(stat -L -c %i /proc/self/ns/net)
private_folder "$state"
record=$state/record

(: >>"$state/lock") 2>/dev/null ||
    fail "$state/lock cannot be made" "room on the disk" "free some space there"
exec 9>>"$state/lock"
flock -w 30 9 || fail "another run uses this machine" "one run at a time" "wait for it to end"
rm -f keeper.pid
echo $$ >keeper.pid ||
    fail "$folder/keeper.pid cannot be written" "room for some kB and for the captures" \
        "free some space there, or name another folder with testbed.folder"

is_interface() {
    case $1 in '' | -* | *[!A-Za-z0-9._@:-]*) return 1 ;; esac
}

is_sysctl() {
    case $1 in
    net.ipv4.tcp_rmem | net.ipv4.tcp_wmem) ;;
    net.ipv4.tcp_no_metrics_save | net.ipv4.tcp_slow_start_after_idle) ;;
    net.ipv4.tcp_sack | net.ipv4.tcp_dsack | net.ipv4.tcp_recovery) ;;
    net.ipv4.tcp_timestamps | net.ipv4.tcp_frto | net.ipv4.tcp_early_retrans) ;;
    *) return 1 ;;
    esac
    case $2 in '' | *[!0-9\ ]*) return 1 ;; esac
}

is_offload() {
    case $1 in tso | gso | gro | lro) ;; *) return 1 ;; esac
    case $2 in on | off) ;; *) return 1 ;; esac
}

is_route() {
    case $1 in '' | -* | *[!A-Za-z0-9._@:/\ -]*) return 1 ;; *" dev "*) return 0 ;; *) return 1 ;; esac
}

OVERLAY=exp0
is_overlay() {
    [ "$1" = $OVERLAY ]
}

# One line of the record, `KIND REST`: checks it, or puts back what it says. What is not there any
# more needs not be put back.
sysctl_path() {
    echo "/proc/sys/net/ipv4/${1#net.ipv4.}"
}
entry() {
    action=$1 kind=$2 rest=$3
    subject=${rest%% *}
    value=${rest#* }
    case $kind in
    sysctl)
        is_sysctl "$subject" "$value" || return 1
        [ "$action" = check ] || [ ! -e "$(sysctl_path "$subject")" ] ||
            (echo "$value" >|"$(sysctl_path "$subject")") 2>/dev/null
        ;;
    offload) # eth1 tso on
        is_interface "$subject" && is_offload "${value% *}" "${value#* }" || return 1
        [ "$action" = check ] || ! ip link show dev "$subject" >/dev/null 2>&1 ||
            ethtool -K "$subject" "${value% *}" "${value#* }" 2>/dev/null
        ;;
    route)
        is_route "$rest" || return 1
        # Words: none of them can be a pattern or an option.
        [ "$action" = check ] || ip route change $rest 2>/dev/null ||
            ! ip -o route show | grep -qF "${rest%% dev *} dev "
        ;;
    device)
        is_overlay "$rest" || return 1
        [ "$action" = check ] || ! ip link show dev "$rest" >/dev/null 2>&1 || ip link del "$rest"
        ;;
    *) return 1 ;;
    esac
}

HEAD="flowsweep-record 1"
by_hand="put that back by hand, then rm $record"
put_back() {
    [ -e "$record" ] || [ -L "$record" ] || return 0
    own_file "$record"
    read -r first <"$record"
    [ "$first" = "$HEAD" ] && [ "$(tail -n 1 "$record")" = end ] ||
        fail "$record is no whole record" "$HEAD ... end" "$by_hand"
    for action in check restore; do
        while read -r kind rest; do
            case "$kind $rest" in "$HEAD" | "end ") continue ;; esac
            entry $action "$kind" "$rest" ||
                fail "$record: cannot be put back: $kind $rest" "how this machine was" "$by_hand"
        done <"$record"
    done
    rm -f "$record"
}

# Groups that are still there although their keeper was killed; only what we started.
end_groups() {
    for leader in $(cat "$1" 2>/dev/null); do
        case $leader in *[!0-9]* | 0* | 1) continue ;; esac
        is_ours "/proc/$leader" 2>/dev/null || continue
        grep -qsF "$folder" "/proc/$leader/cmdline" || continue
        kill -TERM "-$leader" 2>/dev/null
        tries=0
        while kill -0 "-$leader" 2>/dev/null && [ $tries -lt 40 ]; do
            sleep 0.05
            tries=$((tries + 1))
        done
        kill -KILL "-$leader" 2>/dev/null
    done
    rm -f "$1"
}

leave() {
    trap '' TERM INT HUP PIPE
    end_groups program.pid
    end_groups capture.pid
    rm -f ready keeper.pid serve.pid prog-*.sh
    put_back
    exit "${1:-0}"
}

end_groups program.pid
end_groups capture.pid
[ -e "$record" ] && echo "restored an earlier run"
put_back
trap 'leave 1' TERM INT HUP
trap '' PIPE

own_file "$folder/settings"
own_file "$folder/flowsweep-capture"
text=$HEAD
note() {
    entry check "$1" "$2" || undo "this machine has $1 $2" "something that can be put back" \
        "testbed: {change_hosts: false}"
    text="$text
$1 $2"
}
# The file, or the folder, is on the disk. Elsewhere than in GNU's, `sync` may take no names.
synced() {
    if sync --version >/dev/null 2>&1; then sync "$1" 2>/dev/null; else sync; fi
}
write_record() {
    whole="$text
end"
    rm -f "$record.new"
    (printf '%s\n' "$whole" >"$record.new") 2>/dev/null && synced "$record.new" &&
        [ "$(cat "$record.new")" = "$whole" ] && mv "$record.new" "$record" && synced "$state" || {
        rm -f "$record.new"
        undo "$state has no room to note how this machine is: $(df -Pk "$state" | awk 'END {print $4}') kB free" \
            "some kB; nothing was changed" "free some space there (df $state)"
    }
}
undo() {
    put_back
    fail "$@"
}
right="the right to change it"
rights="login as root, testbed: {sudo: true}, or {change_hosts: false}"

# A network of our own between the machines: frames go straight to whom they are for, none is
# flooded, none is learned.
make_overlay() {
    under=$(ip -o -4 addr show | awk -v a="$3" '{split($4, n, "/")} n[1] == a {print $2; exit}')
    [ -n "$under" ] || fail "no interface has the address $3" "one that has it" "testbed.network"
    ! ip link show dev $OVERLAY >/dev/null 2>&1 ||
        fail "there is an interface $OVERLAY already" "none: flowsweep makes one" "ip link del $OVERLAY"
    note device $OVERLAY
    # With GRO the card joins frames before they are taken out of the tunnel.
    was=$(ethtool -k "$under" 2>/dev/null | sed -n 's/^generic-receive-offload: \(on\|off\)$/\1/p')
    [ "$was" != on ] || note offload "$under gro on"
    write_record
    [ "$was" != on ] || ethtool -K "$under" gro off 2>/dev/null ||
        undo "offload gro of $under cannot be switched off: not permitted" "$right" "$rights"
    mtu=$(ip -o link show dev "$under" | sed -n 's/.* mtu \([0-9]*\) .*/\1/p')
    mtu=$((mtu - 50)) # what VXLAN and UDP over IPv4 add
    [ $mtu -le 1500 ] || mtu=1500
    # The emulator sees frames as they are: whole, with their checksums.
    said=$(ip link add $OVERLAY address "$4" type vxlan id "$1" dstport "$2" local "$3" \
        dev "$under" nolearning 2>&1 && ip link set $OVERLAY mtu $mtu 2>&1 &&
        { [ ! -e /proc/sys/net/ipv6/conf/$OVERLAY ] ||
            echo 1 >|/proc/sys/net/ipv6/conf/$OVERLAY/disable_ipv6; } 2>&1 &&
        ethtool -K $OVERLAY tx off tso off gso off gro off 2>&1 &&
        ip addr add "$5" dev $OVERLAY 2>&1 && ip link set $OVERLAY up 2>&1) ||
        undo "$OVERLAY cannot be made: $said" "the right to make an interface, and VXLAN" \
            "root on the nodes, testbed: {sudo: true}, or {emulate: false}"
}
add_peer() {
    said=$(bridge fdb add "$1" dev $OVERLAY dst "$3" port "$4" self permanent 2>&1 &&
        ip neigh add "$2" lladdr "$1" dev $OVERLAY nud permanent 2>&1) ||
        undo "$OVERLAY cannot be told of $2: $said" "$right" "$rights"
}
while read -r key value; do
    case "$key $value" in
    *[!A-Za-z0-9.:/\ ]*) ;; # no address has such a character
    "overlay "*) make_overlay $value ;;
    "peer "*) add_peer $value ;;
    esac
done <settings

while read -r key value; do
    case $key in
    interface) interface=$value ;;
    address) address=$value ;;
    capture) capture=$value ;;
    filter) filter=$value ;;
    esac
done <settings
if [ -z "$interface" ]; then
    interface=$(ip -o -4 addr show | awk -v a="$address" '{split($4, n, "/")} n[1] == a {print $2; exit}')
fi
listed="ip -o addr lists them; testbed.hosts names them"
[ -n "$interface" ] || undo "no interface has the address $address" "one that has it" "$listed"
is_interface "$interface" && ip link show dev "$interface" >/dev/null 2>&1 ||
    undo "there is no interface $interface" "an interface of this machine" "$listed"

# How it was, before anything is changed: all of it, then in one step.
features() {
    ethtool -k "$interface" 2>/dev/null | sed -n 's/^'"$1"': \(on\|off\)\( \[fixed\]\)\{0,1\}$/\1\2/p'
}
# The route that came with the address: `ip route change` takes it back as it is printed, without
# what only tells of the link.
own_route() {
    ip -o route show | grep -F " dev $interface " | grep -F " scope link src $address" |
        sed 's/ linkdown / /; s/ linkdown$//; s/ dead / /; s/ dead$//' | head -n 1
}
long_name() {
    case $1 in
    tso) echo tcp-segmentation-offload ;;
    gso) echo generic-segmentation-offload ;;
    gro) echo generic-receive-offload ;;
    lro) echo large-receive-offload ;;
    esac
}
while read -r key value; do
    case $key in
    sysctl)
        path=$(sysctl_path "${value%% *}")
        [ -e "$path" ] || undo "there is no sysctl ${value%% *}" "a kernel that has it" \
            "testbed: {change_hosts: false}"
        note sysctl "${value%% *} $(tr '\t' ' ' <"$path")"
        ;;
    offload)
        was=$(features "$(long_name "${value%% *}")")
        case $was in on | off) note offload "$interface ${value%% *} $was" ;; esac
        ;;
    congestion)
        route=$(own_route)
        [ -n "$route" ] || undo "the address $address has no route over $interface" \
            "the route that comes with an address" "ip route lists them"
        note route "$(echo $route)"
        ;;
    esac
done <settings
write_record
while read -r key value; do
    case $key in
    sysctl)
        (echo "${value#* }" >|"$(sysctl_path "${value%% *}")") 2>/dev/null ||
            undo "sysctl ${value%% *} cannot be set: not permitted" "$right" "$rights"
        ;;
    offload)
        was=$(features "$(long_name "${value%% *}")")
        if [ "$was" = on ]; then
            ethtool -K "$interface" ${value} 2>/dev/null ||
                undo "offload ${value%% *} of $interface cannot be switched off: not permitted" "$right" "$rights"
        fi
        ;;
    congestion)
        route=$(own_route)
        ip route change $route congctl "$value" 2>/dev/null
        changed=$?
        # Only now: the kernel may just have loaded it. Without it the run is one that failed.
        there=$(cat /proc/sys/net/ipv4/tcp_available_congestion_control)
        case " $there " in
        *" $value "*)
            [ $changed = 0 ] ||
                undo "congestion control $value cannot be set on $interface: not permitted" "$right" "$rights"
            ;;
        *) echo "lacking $there" ;;
        esac
        ;;
    esac
done <settings

rm -f ready capture.log
# A session of its own; the kernel ends it when this shell is killed, where setpriv can say so.
dies=
setpriv --pdeathsig TERM true 2>/dev/null && dies="setpriv --pdeathsig TERM"
setsid $dies "$folder/flowsweep-capture" -i "$interface" $capture \
    ${filter:+--filter "$filter"} >ready 2>capture.log 9>&- &
agent=$!
echo $agent >capture.pid
tries=0
until grep -qs ready ready; do
    if ! kill -0 $agent 2>/dev/null || [ $tries -ge 200 ]; then
        ! grep -qs CAP_NET_RAW capture.log ||
            undo "nothing can be captured: $(sed -n 's/^  found *//p' capture.log)" \
                "the right to open raw sockets (CAP_NET_RAW)" \
                "login as root, testbed: {sudo: true}, or there: setcap cap_net_raw+ep $folder/flowsweep-capture"
        undo "flowsweep-capture did not start: $(tail -n 4 capture.log | tr '\n\t' '  ')" "ready" ""
    fi
    sleep 0.05
    tries=$((tries + 1))
done

counters() {
    pressure=$(sed -n 's/^some .*total=//p' /proc/pressure/cpu 2>/dev/null)
    ip -o -s link show dev "$interface" | tr '\\' '\n' | awk -v p="${pressure:--1}" \
        'up {print "counters", r, $2, p, now; exit} rx {r = $2; rx = 0} /RX:/ {rx = 1} /TX:/ {up = 1}' \
        now="$(cut -d' ' -f1 /proc/uptime)"
}

echo "ready $interface $(uname -n)"
while read -r command; do
    case $command in
    beat) echo alive ;;
    counters) counters ;;
    tcp)
        for one in tcp_congestion_control tcp_rmem tcp_wmem tcp_slow_start_after_idle; do
            echo "tcp ${one#tcp_} $(tr '\t' ' ' </proc/sys/net/ipv4/$one)"
        done
        echo end
        ;;
    stop)
        kill -TERM $agent 2>/dev/null
        wait $agent
        echo "stopped $?"
        rm -f capture.pid
        leave 0
        ;;
    esac
done
leave 1
