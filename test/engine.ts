import Docker from 'dockerode';

/** The container engine of this machine. */
export const docker = new Docker();

/** docker-runtime.docker.test.ts reports when there is none. */
export const hasEngine = await docker.ping().then(
  () => true,
  () => false,
);
