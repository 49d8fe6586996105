/** Returns the URL of a pod's HTTP port: a name of its own under the console's host. */
export function portUrl(baseUrl: string, podId: string, port: string): string {
  const url = new URL(baseUrl);
  const isLoopback = url.hostname === '127.0.0.1' || url.hostname === '[::1]';
  url.hostname = `${podId}-${port}.${isLoopback ? 'localhost' : url.hostname}`;
  return `${url.origin}/`;
}
