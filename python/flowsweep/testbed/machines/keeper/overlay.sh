# The interface exp0, an end of VXLAN tunnels to the other machines.

# Makes a private network between the machines: frames go straight to their receivers, without
# flooding or learning.
make_overlay() {
    under=$(ip -o -4 addr show | awk -v a="$3" '{split($4, n, "/")} n[1] == a {print $2; exit}')
    [ -n "$under" ] || fail "no interface has the address $3" "one that has it" "testbed.network"
    ! ip link show dev $OVERLAY >/dev/null 2>&1 ||
        fail "there is an interface $OVERLAY already" "none: flowsweep makes one" "ip link del $OVERLAY"
    note device $OVERLAY
    # With GRO, frames are merged before they leave the tunnel.
    was=$(ethtool -k "$under" 2>/dev/null | sed -n 's/^generic-receive-offload: \(on\|off\)$/\1/p')
    [ "$was" != on ] || note offload "$under gro on"
    write_record
    [ "$was" != on ] || ethtool -K "$under" gro off 2>/dev/null ||
        undo "offload gro of $under cannot be switched off: not permitted" "$right" "$rights"
    mtu=$(ip -o link show dev "$under" | sed -n 's/.* mtu \([0-9]*\) .*/\1/p')
    mtu=$((mtu - 50)) # overhead of VXLAN and UDP over IPv4
    [ $mtu -le 1500 ] || mtu=1500
    # Without offloads, the emulator sees frames as on a wire, with their checksums.
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

make_network() {
    while read -r key value; do
        case "$key $value" in
        *[!A-Za-z0-9.:/\ ]*) ;; # not an address
        "overlay "*) make_overlay $value ;;
        "peer "*) add_peer $value ;;
        esac
    done <settings
}
