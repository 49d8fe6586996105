/**
 * Exits with 0 once a container engine answers at DOCKER_HOST or the default socket, and with 1 if none does within the seconds
 * given, 0 by default.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import Docker from 'dockerode';

const deadline = performance.now() + Number(process.argv[2] ?? 0) * 1000;
const answers = () => new Docker({ timeout: 5000 }).ping().then(() => true, () => false); // biome-ignore format: one thing
while (!(await answers())) {
  if (performance.now() > deadline) process.exit(1);
  await sleep(500);
}
