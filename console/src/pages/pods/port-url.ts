import { BASE_URL } from '../../api/client.ts';

/** Where a pod's HTTP port answers: a name of its own under the host of this page. */
export function portUrl(podId: string, port: string): string {
  const url = new URL(BASE_URL);
  const isLoopback = url.hostname === '127.0.0.1' || url.hostname === '[::1]';
  url.hostname = `${podId}-${port}.${isLoopback ? 'localhost' : url.hostname}`;
  return `${url.origin}/`;
}
