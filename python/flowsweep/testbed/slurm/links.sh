#!/bin/sh
# The emulator of one run on its node: links.sh NAME FOLDER. Reads FOLDER/links, one line each:
#   address 10.0.0.1 | port wan-west 7700 24790 | peer wan-west MAC 10.0.0.2 24789
# and FOLDER/wan.json for flowsweep-wan. Prints `ready`, then obeys lines from stdin: `beat`, `stop`.
# The end of stdin is `stop` too.
folder=$2
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
LC_ALL=C
export PATH LC_ALL
umask 077

# FOUND, EXPECTED, REMEDY: in one line that flowsweep takes apart.
fail() {
    trap - EXIT
    leave
    printf 'error: %s\t%s\t%s\n' "$1" "$2" "$3"
    exit 2
}
rights="root on the nodes, testbed: {sudo: true}, or {emulate: false}"

leave() {
    [ -z "$wan" ] || kill -TERM "$wan" 2>/dev/null
    [ -z "$wan" ] || wait "$wan"
    code=$?
    for one in $(sed -n 's/^port \(wan-[A-Za-z0-9_-]*\) .*/\1/p' links); do
        ip link del "$one" 2>/dev/null
    done
    [ -z "$gro" ] || ethtool -K "$under" gro on 2>/dev/null
    wan= gro=
    return $code
}

cd "$folder" || exit 2
wan= gro=
leave
trap leave EXIT
trap 'exit 1' TERM INT HUP
trap '' PIPE
while read -r key one two three four; do
    case $key in
    address)
        under=$(ip -o -4 addr show | awk -v a="$one" '{split($4, n, "/")} n[1] == a {print $2; exit}')
        [ -n "$under" ] || fail "no interface has the address $one" "one that has it" "testbed.network"
        address=$one
        # With GRO the card joins frames before they are taken out of the tunnel.
        if ethtool -k "$under" 2>/dev/null | grep -q '^generic-receive-offload: on$'; then
            ethtool -K "$under" gro off 2>/dev/null && gro=yes
        fi
        ;;
    port)
        said=$(ip link add "$one" type vxlan id "$two" dstport "$three" local "$address" \
            dev "$under" nolearning 2>&1 &&
            { [ ! -e /proc/sys/net/ipv6/conf/"$one" ] ||
                echo 1 >/proc/sys/net/ipv6/conf/"$one"/disable_ipv6; } 2>&1 &&
            ip link set "$one" up 2>&1) || fail "no tunnel can be made: $said" "the right to make one" "$rights"
        ethtool -K "$one" tx off tso off gso off gro off >/dev/null 2>&1
        ;;
    peer)
        said=$(bridge fdb add "$two" dev "$one" dst "$three" port "$four" self permanent 2>&1) ||
            fail "$one cannot be told of $two: $said" "the right to do so" "$rights"
        ;;
    esac
done <links

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

echo "ready links $(uname -n)"
while read -r command; do
    case $command in
    beat)
        kill -0 $wan 2>/dev/null ||
            fail "flowsweep-wan has ended: $(tail -n 4 wan.log | tr '\n\t' '  ')" "running" ""
        echo alive
        ;;
    stop)
        leave
        echo "stopped $?"
        exit 0
        ;;
    esac
done
exit 1
