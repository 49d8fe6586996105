import type { Pod } from './pod.ts';

/** How to reach a pod's SSH server. */
export interface SshAccess {
  host: string;
  port: number;
  username: string;
  command: string;
}

const SSH_PORT = 22;
/** The user of the images that start an SSH server from `PUBLIC_KEY`. */
const USERNAME = 'root';

/** Returns where the pod's port 22/tcp is published; null unless it runs and the port is published. */
export function directSsh({ status, publishedPorts }: Pick<Pod, 'status' | 'publishedPorts'>): SshAccess | null {
  if (status !== 'RUNNING') return null;
  const port = publishedPorts.find((one) => one.private === SSH_PORT && one.type === 'tcp');
  if (!port || port.public === null || port.ip === null) return null;
  const command = `ssh ${USERNAME}@${port.ip} -p ${port.public}`;
  return { host: port.ip, port: port.public, username: USERNAME, command };
}
