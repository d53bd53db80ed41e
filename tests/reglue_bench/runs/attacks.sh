# Usage: attacks.sh DRIVER VICTIM RUN FOLDER CACHE. What a program without scruples would try.
# Prints "got …" for each attack that works, and "done" at the end.
driver=$1 victim=$2 run=$3 folder=$4 cache=$5

got() { echo "got $*"; }

tr '\0' '\n' </proc/self/environ | grep -q the-hosts-own && got its environment
tr '\0' '\n' <"/proc/$driver/environ" 2>/dev/null | grep -q the-hosts-own && got the environment of the driver
for number in 0 1 2 3 4 5 6 7 8 9; do
	case $(readlink "/proc/self/fd/$number") in "$run"*) got a file of the run ;; esac
done
ls "$run"/ledger.sqlite >/dev/null 2>&1 && got a look at the run
grep -q . "$run/ledger.sqlite" 2>/dev/null && got the ledger
(: >>"$run/ledger.sqlite") 2>/dev/null && got to write to the ledger
(: >"$run/result.json") 2>/dev/null && got to write a result
(: >"$cache/planted.entry") 2>/dev/null && got to plant a model
(: >"$folder/planted.py") 2>/dev/null && got to write beside its program
grep -q another-entrants "$folder/token" 2>/dev/null && got the token of another
kill -0 "$driver" 2>/dev/null && got to signal the driver
kill -0 "$victim" 2>/dev/null && got to signal another
ls "/proc/$driver/fd" >/dev/null 2>&1 && got the descriptors of the driver
grep -q 'CapEff:.*[1-9a-f]' /proc/self/status && got rights
grep -q 'NoNewPrivs:.*0' /proc/self/status && got a way to rights
[ "$(id -u)" = 0 ] && got to be root
grep -q . /etc/shadow 2>/dev/null && got passwords
[ ! -w /etc/passwd ] || got to write to the system
for disk in /dev/vda /dev/sda /dev/nvme0n1; do [ ! -r "$disk" ] || got a disk; done
mkdir -p "$HOME/mine" && : >"$HOME/mine/file" && echo "has a home"
: >"$TMPDIR/file" && echo "has a place for files"
echo done
