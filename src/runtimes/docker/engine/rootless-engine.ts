/**
 * An engine of a user without rights (rootless) has the network of its containers in a namespace of that user. Workers and
 * Podyard reach each other only if Podyard is in the same namespace, as after `podman unshare --rootless-netns`.
 */
import { readFileSync } from 'node:fs';
import { Failure } from '../../../core/errors.ts';
import type { Engine } from './engine.ts';
import type { EngineMachine } from './engine-machine.ts';

/** The user ids of a process that is in no user namespace: all of them. */
const ALL_USERS = '0 0 4294967295';

/** An engine answers, but Podyard cannot use it. The message says why, and what to do. */
export class UnusableEngine extends Failure {
  constructor(message: string) {
    super('unavailable', message);
  }
}

/** Rejects with an UnusableEngine when workers of this engine could not reach Podyard. */
export async function refuseOtherNamespace(
  engine: Engine,
  machine: EngineMachine,
  uidMap = '/proc/self/uid_map',
): Promise<void> {
  const { isRootless, cgroupVersion } = await machine.read();
  if (!isRootless || readFileSync(uidMap, 'utf8').trim().split(/\s+/).join(' ') !== ALL_USERS) return;
  const { name } = await engine.kind();
  const limits = 'With control groups of version 1 it can neither limit memory and CPUs nor freeze workers, either.';
  throw new UnusableEngine(
    [
      `${name} runs without root: its containers are on a network of its user's own, where workers cannot reach Podyard, nor Podyard them.`,
      ...(cgroupVersion === 1 ? [limits] : []),
      'Use the engine as root (Podman: systemctl enable --now podman.socket, and DOCKER_HOST=unix:///run/podman/podman.sock),',
      'or run workers as processes without isolation, with --runtime process',
    ].join(' '),
  );
}
