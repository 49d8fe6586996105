/** Exits with 0 if a container engine answers at DOCKER_HOST or the default socket. */
import { Engine } from '../src/runtimes/docker/engine/engine.ts';

await new Engine(undefined).json({ method: 'GET', path: '/_ping', timeoutMs: 5000 }).catch(() => process.exit(1));
