import Docker from 'dockerode';
import { kindOf } from '../src/engine/engine-kind.ts';

/** The container engine of this machine. */
export const docker = new Docker();

/** docker-runtime.docker.test.ts reports when there is none. */
export const hasEngine = await docker.ping().then(
  () => true,
  () => false,
);

/** The kind of the engine. */
export const engineKind = hasEngine ? kindOf(await docker.version()) : null;
