import Docker from 'dockerode';
import { describe, expect, test } from 'vitest';
import { buildImages } from '../../src/runtimes/docker/images/example-images.ts';

/** True when a container engine answers at DOCKER_HOST or the default socket. */
const hasEngine = await new Docker({ timeout: 5000 }).ping().then(
  () => true,
  () => false,
);

/** Describes tests that need containers. Without an engine they are skipped, or fail with CI=true. */
export function describeWithEngine(name: string, body: () => void): void {
  if (!hasEngine && process.env.CI === 'true') {
    test(`${name}: a container engine answers`, () => expect.fail('with CI=true these tests need an engine'));
  }
  describe.skipIf(!hasEngine)(name, body);
}

/** Builds the images of the example workers. Throws when one cannot be built here. */
export async function needExampleImages(): Promise<void> {
  for (const { status, note } of await buildImages()) if (status === 'skipped') throw new Error(note);
}

/** Returns the containers of an installation's workloads, running or not: workload id → state. */
export async function containersOf(installation: string): Promise<Map<string, string>> {
  const filters = { label: [`podyard.installation=${installation}`] };
  const found = await new Docker().listContainers({ all: true, filters });
  const workloads = found.filter((one) => one.Labels['podyard.kind'] !== 'network');
  return new Map(workloads.map((one) => [one.Labels['podyard.id']!, one.State]));
}

/** Returns the container of a workload. Throws when there is none. */
export async function containerOf(installation: string, workloadId: string): Promise<Docker.Container> {
  const docker = new Docker();
  const filters = { label: [`podyard.installation=${installation}`, `podyard.id=${workloadId}`] };
  const [found] = await docker.listContainers({ all: true, filters });
  if (!found) throw new Error(`workload ${workloadId} has no container`);
  return docker.getContainer(found.Id);
}

/** Returns when the engine created each container, from its events: workload id → ms since 1970. */
export async function creationsOf(installation: string, sinceMs: number): Promise<Map<string, number>> {
  const stream = (await new Docker().getEvents({
    since: Math.floor(sinceMs / 1000),
    until: Math.ceil(Date.now() / 1000),
    filters: { type: ['container'], event: ['create'], label: [`podyard.installation=${installation}`] },
  } as never)) as unknown as NodeJS.ReadableStream;
  let text = '';
  for await (const chunk of stream) text += chunk;
  const events = text.split('\n').filter((line) => line.trim() !== '');
  return new Map(
    events.map((line) => {
      const { Actor, timeNano } = JSON.parse(line) as {
        Actor: { Attributes: Record<string, string> };
        timeNano: number;
      };
      return [Actor.Attributes['podyard.id']!, timeNano / 1e6];
    }),
  );
}
