#!/bin/sh
# Starts a systemd of its own beside the machine's, which has nothing but the capture service of `lo`:
#
#   unshare --pid --fork --kill-child --mount --uts --ipc --net --cgroup \
#       tests/capture/service_box.sh FOLDER PROGRAM UNIT
#
# Its root is the machine's, below a layer in FOLDER's memory that takes what is written. The
# kernel's settings, which are those of the machine, cannot be written to.
set -eu
folder=$1 program=$2 unit=$3
mount -t tmpfs tmpfs "$folder"
mkdir "$folder/upper" "$folder/work" "$folder/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$folder/upper,workdir=$folder/work" "$folder/root"
cd "$folder/root"
for name in run tmp dev; do mount -t tmpfs -o mode=755 tmpfs "$name"; done
chmod 1777 tmp
mkdir dev/pts dev/shm dev/mqueue dev/hugepages
mount -t devpts -o newinstance,ptmxmode=666 devpts dev/pts
ln -s pts/ptmx dev/ptmx
for name in null zero full random urandom tty; do
    touch "dev/$name"
    mount --bind "/dev/$name" "dev/$name"
done
ln -s /proc/self/fd dev/fd
mount -t proc proc proc
mount --bind proc/sys proc/sys
mount -o remount,bind,ro proc/sys
mount -t sysfs -o ro sysfs sys
mount -t cgroup2 cgroup2 sys/fs/cgroup
for name in sysctl modules-load binfmt remount-fs tmpfiles-setup-dev; do
    ln -sf /dev/null "etc/systemd/system/systemd-$name.service"
done
echo 0123456789abcdef0123456789abcdef >etc/machine-id
install -m 755 "$program" usr/local/bin/flowsweep-capture
cp "$unit" etc/systemd/system
ip link set lo up
export container=flowsweep
exec chroot . "$(command -v systemd || echo /lib/systemd/systemd)" --system --unit=flowsweep-capture@lo.service
