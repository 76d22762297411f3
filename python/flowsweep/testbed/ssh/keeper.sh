#!/bin/sh
# One machine during one run: keeper.sh NAME FOLDER. Reads FOLDER/settings, one `key value` a line:
#   interface eth1 | address 10.0.0.1 | offload tso off | sysctl net.ipv4.tcp_rmem 4096 65536 65536
#   congestion reno | capture ARGUMENTS of flowsweep-capture | filter BPF
# Prints `ready`, then obeys lines from stdin: `counters`, `stop`. The end of stdin is `stop` too.
name=$1
folder=$2
cd "$folder" || exit 2
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin

fail() {
    echo "error: $*"
    exit 2
}

exec 9>lock
flock -w 30 9 || fail "another run uses this machine"
echo $$ >keeper.pid

put_back() {
    if [ -e restore.sh ]; then
        sh ./restore.sh 9>&- && rm -f restore.sh
    fi
}

# Groups that are still there although their keeper was killed; only what we started.
end_groups() {
    for leader in $(cat "$1" 2>/dev/null); do
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
    put_back
    rm -f ready keeper.pid serve.pid prog-*.sh
    exit "${1:-0}"
}

end_groups program.pid
end_groups capture.pid
[ -e restore.sh ] && echo "restored an earlier run"
put_back
trap 'leave 1' TERM INT HUP
trap '' PIPE

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
[ -n "$interface" ] || fail "no interface has the address $address"
[ -e "/sys/class/net/$interface" ] || ip link show "$interface" >/dev/null 2>&1 ||
    fail "there is no interface $interface"

# How it was, before anything is changed: all of it, then in one step.
features() {
    ethtool -k "$interface" 2>/dev/null | sed -n 's/^'"$1"': \(on\|off\)\( \[fixed\]\)\{0,1\}$/\1\2/p'
}
# The route that came with the address: `ip route change` takes it back as it is printed.
own_route() {
    ip -o route show | grep -F " dev $interface " | grep -F " scope link src $address" | head -n 1
}
long_name() {
    case $1 in
    tso) echo tcp-segmentation-offload ;;
    gso) echo generic-segmentation-offload ;;
    gro) echo generic-receive-offload ;;
    lro) echo large-receive-offload ;;
    esac
}
: >restore.new
while read -r key value; do
    case $key in
    sysctl)
        path=/proc/sys/$(echo "${value%% *}" | tr . /)
        [ -e "$path" ] || fail "there is no sysctl ${value%% *}"
        echo "echo '$(cat "$path")' > $path" >>restore.new
        ;;
    offload)
        was=$(features "$(long_name "${value%% *}")")
        case $was in on | off) echo "ethtool -K $interface ${value%% *} $was" >>restore.new ;; esac
        ;;
    congestion)
        route=$(own_route)
        [ -n "$route" ] || fail "the address $address has no route over $interface"
        echo "ip route change $route" >>restore.new
        ;;
    esac
done <settings
mv restore.new restore.sh && sync restore.sh 2>/dev/null

while read -r key value; do
    case $key in
    sysctl)
        path=/proc/sys/$(echo "${value%% *}" | tr . /)
        (echo "${value#* }" >"$path") 2>/dev/null || {
            put_back
            fail "sysctl ${value%% *} cannot be set: not permitted"
        }
        ;;
    offload)
        was=$(features "$(long_name "${value%% *}")")
        if [ "$was" = on ]; then
            ethtool -K "$interface" ${value} 2>/dev/null || {
                put_back
                fail "offload ${value%% *} of $interface cannot be switched off: not permitted"
            }
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
            [ $changed = 0 ] || {
                put_back
                fail "congestion control $value cannot be set on $interface: not permitted"
            }
            ;;
        *) echo "lacking $there" ;;
        esac
        ;;
    esac
done <settings

rm -f ready
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
        said=$(tail -n 3 capture.log | tr '\n' ' ')
        put_back
        fail "flowsweep-capture did not start: $said"
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

echo "ready $interface"
while read -r command; do
    case $command in
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
