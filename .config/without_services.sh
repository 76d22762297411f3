#!/bin/sh
# Runs a command, such as apt-get, while no package may start a service:
#
#   .config/without_services.sh COMMAND...
#
# A policy that somebody else made is left alone. Ours is removed at the end, whatever the signal. After SIGKILL the
# policy stays, but allows everything, and the next run of this script removes it.
set -eu
policy=${POLICY_RC_D:-/usr/sbin/policy-rc.d}
mark="# Made by flowsweep's .config/without_services.sh"
child=

end() { # CODE
    trap '' HUP INT TERM
    [ -z "$child" ] || kill "$child" 2>/dev/null || :
    [ -z "$child" ] || wait "$child" || :
    exit "$1"
}
trap 'end 129' HUP
trap 'end 130' INT
trap 'end 143' TERM
if ! [ -e "$policy" ] || grep -qsF "$mark" "$policy"; then
    trap 'rm -f "$policy"' EXIT
    printf '#!/bin/sh\n%s\nkill -0 %s 2>/dev/null && exit 101\nexit 0\n' "$mark" $$ >"$policy"
    chmod 755 "$policy"
fi
# In the background, so that a signal does not wait for the command to end.
"$@" &
child=$!
wait "$child" && status=0 || status=$?
child=
exit "$status"
