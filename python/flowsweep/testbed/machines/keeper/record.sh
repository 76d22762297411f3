# The record of the machine's state: which settings can be restored, and how to note and restore them.

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

# Checks or restores one line of the record, `KIND REST`. A file or interface that no longer exists
# needs no restoring.
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
        # Unquoted: no word can be a pattern or an option.
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
put_back() {
    by_hand="put that back by hand, then rm $record"
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

noted=$HEAD
# KIND REST: adds a line to the record.
note() {
    entry check "$1" "$2" || undo "this machine has $1 $2" "something that can be put back" \
        "testbed: {change_hosts: false}"
    noted="$noted
$1 $2"
}
# Syncs a file or folder to disk. Only GNU `sync` surely accepts names.
synced() {
    if sync --version >/dev/null 2>&1; then sync "$1" 2>/dev/null; else sync; fi
}
write_record() {
    whole="$noted
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
