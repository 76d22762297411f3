# Prepares, captures and restores a machine for one run: keeper.sh NAME FOLDER. Reads FOLDER/settings,
# one `key value` a line:
#   interface eth1 | address 10.0.0.1 | offload tso off | sysctl net.ipv4.tcp_rmem 4096 65536 65536
#   congestion reno | capture ARGUMENTS of flowsweep-capture | filter BPF
#   overlay 7700 24789 10.0.0.1 MAC 10.77.1.1/16 | peer MAC 10.77.1.2 10.0.0.2 24789
# `overlay` creates the interface exp0, an end of VXLAN tunnels to the peers, and removes it at the end.
# Prints `ready INTERFACE NAME`, then obeys lines from stdin: `beat`, `counters`, `tcp`, `stop`. The end
# of stdin is `stop` too.
#
# keeper.sh --prepare FOLDER creates or checks the folder, removes the files of an earlier run, and
# prints the checksum of the installed agent.
#
# The preceding parts define the functions: `ownership.sh`, `record.sh`, `overlay.sh`, `settings.sh`.

prepare() {
    rm -f -- *.pcap.zst* *.capture.json app.json serve.pid prog-*.sh
    [ ! -e flowsweep-capture ] || own_file flowsweep-capture
    sha256sum flowsweep-capture 2>/dev/null
    exit 0
}

# If root changes settings, the record of the old ones is where only root may write. Settings belong
# to a network namespace.
lock_machine() {
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
}

# Ends process groups that outlived their killed keeper; only those that we started.
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

put_back_earlier_run() {
    end_groups program.pid
    end_groups capture.pid
    [ -e "$record" ] && echo "restored an earlier run"
    put_back
}

start_capture() {
    rm -f ready capture.log
    # The agent gets its own session; with setpriv, the kernel ends it when this shell is killed.
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
}

counters() {
    pressure=$(sed -n 's/^some .*total=//p' /proc/pressure/cpu 2>/dev/null)
    ip -o -s link show dev "$interface" | tr '\\' '\n' | awk -v p="${pressure:--1}" \
        'up {print "counters", r, $2, p, now; exit} rx {r = $2; rx = 0} /RX:/ {rx = 1} /TX:/ {up = 1}' \
        now="$(cut -d' ' -f1 /proc/uptime)"
}

obey() {
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
}

private_folder "$folder"
cd "$folder" || fail "$folder cannot be entered" "a folder of this user" "$elsewhere"
[ "$name" != --prepare ] || prepare
lock_machine
put_back_earlier_run
trap 'leave 1' TERM INT HUP
trap '' PIPE
own_file "$folder/settings"
own_file "$folder/flowsweep-capture"
make_network
find_interface
note_settings
write_record
change_settings
start_capture
echo "ready $interface $(uname -n)"
obey
