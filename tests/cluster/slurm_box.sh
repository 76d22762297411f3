#!/bin/bash
# A real Slurm on this machine: a controller and NODES nodes, each with a name, addresses and a disk
# of its own, in namespaces; runs COMMAND on the head beside them. Needs no root.
#
#   tests/cluster/slurm_box.sh FOLDER NODES COMMAND...
#
# FOLDER, made if it lacks, gets the configuration, the state and the logs. Nodes are n1, n2 and so
# on: eth0 10.99.0.10+i with the head at .1, eth1 10.78.0.10+i between the nodes alone. `on NODE
# COMMAND...` runs a command on one. The exit code is that of COMMAND; 77 says that Slurm is not
# installed. When this script ends, however it ends, the kernel ends every daemon and removes every
# namespace.
set -eu
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin

fail() {
    printf 'slurm_box: %s\n' "$*" >&2
    exit 2
}

if [ "${1:-}" != --inside ]; then
    [ $# -ge 3 ] || fail "usage: slurm_box.sh FOLDER NODES COMMAND..."
    case $2 in [1-9] | [1-9][0-9]) ;; *) fail "NODES: found $2, expected 1 to 99" ;; esac
    for program in slurmctld slurmd srun munged unshare ip; do
        command -v "$program" >/dev/null || {
            echo "slurm_box: no $program (apt install slurm-wlm munge, without starting them)" >&2
            exit 77
        }
    done
    mkdir -p -- "$1"
    folder=$(cd -- "$1" && pwd -P)
    nodes=$2
    shift 2
    # Whoever may make network namespaces needs no user namespace around them.
    user="--user --map-current-user --keep-caps"
    unshare --net true 2>/dev/null && user=
    # `unshare` does not heed SIGTERM; with it gone, the kernel ends the rest. It goes with this script.
    setpriv --pdeathsig KILL unshare $user --net --mount --uts --ipc --pid --fork --kill-child --mount-proc \
        "$0" --inside "$folder" "$nodes" "$@" &
    box=$!
    trap 'kill -KILL $box 2>/dev/null' TERM INT HUP EXIT
    code=0
    wait $box || code=$?
    trap - EXIT
    exit $code
fi

folder=$2 nodes=$3
shift 3
exec 3<&0 </dev/null
hostname head
mount -t tmpfs -o mode=755 tmpfs /run
rm -rf -- "$folder/etc" "$folder/spool" "$folder/state"
mkdir -p /run/netns /run/uts /run/munge /run/local /run/lock /run/bin "$folder"/{etc,log,state,spool}
chmod 1777 /run/lock

# A user whom nobody knows by name cannot use munge.
user=$(id -un 2>/dev/null) || {
    user=box
    cp /etc/passwd /etc/group /run
    echo "box:x:$(id -u):$(id -g):box:/run:/bin/sh" >>/run/passwd
    echo "box:x:$(id -g):" >>/run/group
    mount --bind /run/passwd /etc/passwd
    mount --bind /run/group /etc/group
}

{
    echo "127.0.0.1 localhost"
    echo "10.99.0.1 head"
    for i in $(seq "$nodes"); do echo "10.99.0.$((10 + i)) n$i"; done
} >/run/hosts
mount --bind /run/hosts /etc/hosts

cat >"$folder/etc/slurm.conf" <<END
ClusterName=box
SlurmctldHost=head(10.99.0.1)
SlurmUser=$user
SlurmdUser=$user
AuthType=auth/munge
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool/%n
SlurmctldPidFile=/run/slurmctld.pid
SlurmdPidFile=/run/slurmd-%n.pid
SlurmctldLogFile=$folder/log/slurmctld.log
SlurmdLogFile=$folder/log/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=sched_interval=1,sched_min_interval=100000,batch_sched_delay=0
# Each node claims more cores than it has a share of: jobs of several tasks find room.
SlurmdParameters=config_overrides
ReturnToService=2
KillWait=5
MinJobAge=300
SlurmdTimeout=60
AccountingStorageType=accounting_storage/none
NodeName=n[1-$nodes] NodeAddr=10.99.0.[11-$((10 + nodes))] CPUs=4 RealMemory=4000 State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=NO
END
# Slurm 22.05 loads a plugin for control groups whatever it is told; this one touches nothing.
echo "CgroupPlugin=cgroup/v1" >"$folder/etc/cgroup.conf"
(umask 077 && head -c 128 /dev/urandom >"$folder/etc/munge.key")
mount --bind "$folder/etc" /etc/slurm

cat >/run/bin/on <<'END'
#!/bin/sh
# Runs a command on a node: on NODE COMMAND...
node=$1
shift
exec ip netns exec "$node" nsenter --uts=/run/uts/"$node" -- "$@"
END
chmod 755 /run/bin/on

bridge() { # bridge NAME MTU
    ip link add "$1" type bridge stp_state 0 mcast_snooping 0
    ip link set "$1" mtu "$2" up
}
quiet() { # no messages of IPv6 among the packets
    for scope in all default; do
        [ ! -e /proc/sys/net/ipv6/conf/$scope ] || echo 1 >/proc/sys/net/ipv6/conf/$scope/disable_ipv6
    done
}
quiet
ip link set lo up
bridge mgmt 1500
bridge fast 9000
ip addr add 10.99.0.1/24 dev mgmt
for i in $(seq "$nodes"); do
    node=n$i
    ip netns add "$node"
    touch /run/uts/"$node"
    unshare --uts=/run/uts/"$node" hostname "$node"
    ip link add "m$i" type veth peer name eth0 netns "$node"
    ip link set "m$i" master mgmt up
    ip link add "f$i" mtu 9000 type veth peer name eth1 netns "$node"
    ip link set "f$i" master fast up
    mkdir "$folder/spool/$node"
    (
        export -f quiet
        ip netns exec "$node" bash -c quiet
    )
    ip -n "$node" -batch - <<END
link set lo up
addr add 10.99.0.$((10 + i))/24 dev eth0
link set eth0 up
addr add 10.78.0.$((10 + i))/24 dev eth1
link set eth1 mtu 9000 up
END
done

munged --force --key-file="$folder/etc/munge.key" --socket=/run/munge/munge.socket.2 \
    --pid-file=/run/munge/munged.pid --log-file="$folder/log/munged.log" \
    --seed-file="$folder/etc/munge.seed" || fail "munged did not start: see $folder/log/munged.log"
slurmctld -c || fail "slurmctld did not start: see $folder/log/slurmctld.log"
for i in $(seq "$nodes"); do
    # What belongs on a node's own disk lies in /run/local.
    /run/bin/on "n$i" unshare --mount sh -c "mount -t tmpfs -o mode=1777 tmpfs /run/local; exec slurmd"
done
tries=0
until [ "$(sinfo -h -t idle -o %D 2>/dev/null)" = "$nodes" ]; do
    tries=$((tries + 1))
    [ $tries -lt 600 ] || fail "not all nodes are idle after 30 s: see $folder/log"
    sleep 0.05
done

code=0
PATH=/run/bin:$PATH "$@" <&3 || code=$?
exit $code
