"""Prints the key (SURT) of each line of a file, as cdxj-indexer makes it."""

import socket
import sys

import surt


def address(host):
    """What the system says of a number that is no address, without asking a name server."""
    text = host.decode("ascii")
    try:
        return text, [], [socket.inet_ntoa(socket.inet_aton(text))]
    except OSError:
        raise socket.gaierror from None


socket.gethostbyname_ex = address

with open(sys.argv[1], encoding="utf-8") as file:
    for line in file:
        url = line.rstrip("\n")
        try:
            key = surt.surt(url)
        except Exception:
            key = url
        print(key)
