# Finds, notes and changes the settings of the machine.

# FEATURE: prints on or off, with [fixed] if it cannot change; nothing if the interface lacks it.
features() {
    ethtool -k "$interface" 2>/dev/null | sed -n 's/^'"$1"': \(on\|off\)\( \[fixed\]\)\{0,1\}$/\1\2/p'
}
# Prints the route that came with the address in a form that `ip route change` accepts, without the
# state of the link.
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

find_interface() {
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
}

note_settings() {
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
}

change_settings() {
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
            # Checks only now: the kernel may just have loaded the module. Without it, the run fails.
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
}
