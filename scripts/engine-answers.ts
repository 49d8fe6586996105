/**
 * Exits with 0 once a container engine answers at DOCKER_HOST or the default socket, and with 1 if none does within the seconds
 * given, 0 by default.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Engine } from '../src/engine/engine.ts';

const deadline = performance.now() + Number(process.argv[2] ?? 0) * 1000;
const answers = () =>
  new Engine(undefined).json({ method: 'GET', path: '/_ping', timeoutMs: 5000 }).then(
    () => true,
    () => false,
  );
while (!(await answers())) {
  if (performance.now() > deadline) process.exit(1);
  await sleep(500);
}
