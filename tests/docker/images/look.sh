#!/bin/sh
# What a container finds; then it plays.
echo networks: $(ls /sys/class/net)
echo user: $(id -u)
echo capabilities: $(grep CapEff /proc/self/status)
echo seccomp: $(grep -w Seccomp: /proc/self/status)
echo processes: $(ls -d /proc/[0-9]* | wc -l)
echo writes: $(for of in / /agent /etc /run /var/tmp /dev/shm /tmp; do
    touch $of/x 2>/dev/null && echo $of
done)
echo engine: none $(ls /var/run/docker.sock /run/podman 2>/dev/null)
echo sockets: $(ls "$(dirname "${REGLUE_ADDRESS#unix:}")")
echo named: $(env | cut -d= -f1 | grep REGLUE | sort)
exec reglue join sarsa
