import type { Socket } from 'node:net';

/**
 * Lets a connection stay paused after `resume` and then `pause` in one tick. The stream still begins to read a tick after its `resume`, and
 * so does node's HTTP server (lib/_http_server.js, onSocketResume): unread bodies would fill the memory. Call it after the server's own
 * listeners are attached.
 */
export function stayPaused(socket: Socket): void {
  socket.on('resume', () => {
    if (!socket.isPaused()) return;
    socket.pause(); // the handle
    socket.emit('pause'); // the HTTP server
  });
}
