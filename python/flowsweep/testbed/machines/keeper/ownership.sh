#!/bin/sh
# Checks owners of files. A keeper may run as root, and its folder may be where everybody may write:
# it uses no folder or file that anybody but root and its own user can change.
name=$1
folder=$2
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
LC_ALL=C
export PATH LC_ALL
umask 077
set -C # `>` creates a new file and follows no link

# Prints FOUND, EXPECTED, REMEDY in one line that flowsweep parses.
fail() {
    printf 'error: %s\t%s\t%s\n' "$1" "$2" "$3"
    exit 2
}

me=$(id -u)
# The user number of the machine's root, as seen inside a user namespace.
unmapped=$me
read -r _ _ users </proc/self/uid_map
case $users in '' | 4294967295) ;; *) unmapped=$(cat /proc/sys/kernel/overflowuid) ;; esac

# Succeeds if the file belongs to root, to this user, or to the user who became root by sudo.
is_ours() {
    case $(stat -c %u "$1") in
    0 | "$me" | "${SUDO_UID:-$me}" | "$unmapped") return 0 ;;
    esac
    return 1
}

# Prints why somebody else may change this file; nothing if nobody may. For links only the owner
# matters: nobody else can change a link.
fault() {
    is_ours "$1" || {
        echo "$1 is of user $(stat -c %U "$1")"
        return
    }
    [ -L "$1" ] && return
    mode=$(stat -c %a "$1")
    case $mode in
    *[2367]? | *[2367])
        # In a sticky folder, only owners can rename or remove their files.
        case $mode in [1357]???) [ -d "$1" ] && return ;; esac
        echo "others may write to $1 (mode $mode)"
        ;;
    esac
}

elsewhere="name a folder of your own with testbed.folder, or remove that one as the user whose it is"

# Creates the folder and its parents where they are missing, and checks them. After that, nobody else
# can replace the folder.
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
    # If the path has a link, check the parents of its target, too.
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

# Checks a file before it is read or started.
own_file() {
    [ -f "$1" ] && [ ! -L "$1" ] || fail "$1 is no file" "a file that flowsweep put there" "$elsewhere"
    said=$(fault "$1")
    [ -z "$said" ] || fail "$said" "a file that only this user and root may change" "rm $1"
}
