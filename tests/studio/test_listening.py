"""The socket that a server listens on."""

from __future__ import annotations

import asyncio
import socket
from concurrent.futures import ThreadPoolExecutor

from evenhand.studio.app import listen_on


def test_small_answers_are_sent_at_once() -> None:
    """Nagle's algorithm would hold the body of a page back until the reader acknowledges its headers."""

    async def delay_is_off() -> bool:
        accepted: asyncio.Future[socket.socket] = asyncio.get_running_loop().create_future()

        async def answer(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            accepted.set_result(writer.get_extra_info("socket"))
            writer.close()

        with listen_on("127.0.0.1", 0) as listening:
            async with await asyncio.start_server(answer, sock=listening):
                _, writer = await asyncio.open_connection(*listening.getsockname())
                connection = await accepted
                option = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
                writer.close()
        return option != 0

    # Not in this thread: a browser of other tests may have left an event loop running in it.
    with ThreadPoolExecutor(1) as thread:
        assert thread.submit(asyncio.run, delay_is_off()).result()
