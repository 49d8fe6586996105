import { createSocket } from 'node:dgram';
import { once } from 'node:events';

/** Returns the address of this machine on the route to the server. Sends nothing: connecting a UDP socket only picks a route. */
export async function ownAddress(server: URL): Promise<string> {
  const host = server.hostname.replace(/^\[|\]$/g, '');
  const socket = createSocket(host.includes(':') ? 'udp6' : 'udp4');
  try {
    socket.connect(Number(server.port || 443), host);
    await once(socket, 'connect');
    return socket.address().address;
  } finally {
    socket.close();
  }
}
