import type { Socket } from 'node:net';

/**
 * Lets a connection of node's HTTP server stay paused. Of `resume` and then `pause` in one tick the event `resume` comes
 * last, and the server reads on: bodies that nobody reads would fill the memory (nodejs lib/_http_server.js,
 * onSocketResume). Call it after the server's own listeners are attached.
 */
export function stayPaused(socket: Socket): void {
  socket.on('resume', () => {
    if (socket.isPaused()) socket.emit('pause');
  });
}
