import type { IncomingMessage, ServerResponse } from 'node:http';
import { Failure } from '../core/errors.ts';
import type { PodId, UserId } from '../core/ids.ts';
import type { Actor } from '../domain/access/actor.ts';
import { change } from '../domain/change.ts';
import { findPodRoute } from '../domain/pods/find-pod-route.ts';
import { openPod } from '../domain/sessions/pod-sign-ins.ts';
import { sendJson } from './answers.ts';
import { readSession, readTexts } from './local/local-request.ts';
import { senderOf } from './sender.ts';
import type { SignInDeps } from './sign-in-deps.ts';

const STATE = /^[\w-]{43}$/;

/**
 * Answers with the address at which a private pod lets the session's browser in. A caller without access gets the same answer as for a
 * missing pod.
 */
export async function openPodPort(deps: SignInDeps, req: IncomingMessage, res: ServerResponse): Promise<void> {
  const sender = senderOf(deps, req, res);
  const { pod, port: digits, state } = await readTexts(req, ['pod', 'port', 'state']);
  if (!STATE.test(state)) throw new Failure('badRequest', 'state: must be what the pod sent');
  const session = await readSession(deps, req, sender);
  const port = Number(digits);
  const route = await findPodRoute(deps.pool, pod);
  if (!route?.privateTo || !route.httpPorts.includes(port)) throw noSuchPod();
  const actor = await actFor(deps, session, route.privateTo);
  const at = { id: pod as PodId, port };
  const ticket = await change(deps, actor, openPod, { ...at, state });
  const url = new URL(deps.publicUrlFor(req));
  url.hostname = `${at.id}-${port}.${deps.podHost}`;
  sendJson(res, 201, { url: `${url.origin}/.well-known/podyard/sign-in?ticket=${ticket}` });
}

async function actFor({ keyRing }: SignInDeps, session: Actor, owner: UserId): Promise<Actor> {
  if (session.userId === owner) return session;
  return keyRing.teams.actAs(session, owner).catch((error: unknown) => {
    throw error instanceof Failure && error.kind === 'forbidden' ? noSuchPod() : error;
  });
}

function noSuchPod(): Failure {
  return new Failure(
    'notFound',
    'You may open no private pod with this id and HTTP port. Are you signed in as the right person?',
  );
}
