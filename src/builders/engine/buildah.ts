/**
 * A build by Podman's Buildah. It has no session: credentials go in a header, and each secret is a file of the archive that Podman moves
 * out of the context before the first step, and deletes with it. Its progress is plain text.
 */
import { randomUUID } from 'node:crypto';
import { type Engine, inHeader } from '../../engine/engine.ts';
import { readMessages } from './build-messages.ts';
import type { BuildPlan } from './build-plan.ts';
import type { BuildSteps } from './build-steps.ts';

const CPU_PERIOD_US = 100_000;

/** Builds and names the image. Returns its id. */
export async function buildWithBuildah(engine: Engine, plan: BuildPlan): Promise<string> {
  const secrets = Object.entries(plan.request.secrets).map(([id, text]) => ({
    id,
    path: `secret-${randomUUID()}`,
    text,
  }));
  const answer = await engine.stream({
    method: 'POST',
    path: '/build',
    query: { ...queryOf(plan), secrets: JSON.stringify(secrets.map(({ id, path }) => `id=${id},src=${path}`)) },
    headers: { 'X-Registry-Config': inHeader(plan.request.registries) },
    archive: plan.archive(secrets),
    timeoutMs: plan.limits.timeoutMs,
    signal: plan.signal,
  });
  const reader = new BuildahOutput(plan.steps);
  let id = '';
  for await (const { stream, aux } of readMessages(answer)) {
    if (stream !== undefined) reader.take(stream, new Date());
    if (aux !== undefined) id = (aux as { ID: string }).ID;
  }
  plan.steps.end('COMPLETED', new Date());
  return id;
}

function queryOf({ request, dockerfile, labels, limits, args }: BuildPlan): Record<string, unknown> {
  const { image, usesCache, recipe } = request;
  return {
    t: image,
    dockerfile,
    labels,
    buildargs: args,
    memory: limits.memoryBytes,
    memswap: limits.memoryBytes,
    cpuperiod: CPU_PERIOD_US,
    cpuquota: Math.round(limits.cpus * CPU_PERIOD_US),
    forcerm: '1',
    ...(recipe.target !== null && { target: recipe.target }),
    ...(!usesCache && { nocache: '1' }),
    // A kept layer would be used for any user with the same Dockerfile, without the secret.
    ...(Object.keys(request.secrets).length > 0 && { layers: '0' }),
  };
}

/** `STEP 2/5: RUN make`, in one of several stages `[1/2] STEP 2/5: RUN make`. */
const STEP = /^(?:\[(\d+)\/\d+\] )?STEP (\d+)\/(\d+): (.*)/s;
const CACHED = /^--> Using cache /;
const ENDED = /^(?:--> [0-9a-f]{6,}$|COMMIT )/;

/** Reads steps from Buildah's output. What a step prints looks like that, too: a step counts only if it is the next one. */
export class BuildahOutput {
  readonly #steps: BuildSteps;
  #current: { step: string; name: string; stage: number; number: number; total: number } | null = null;
  #hasEnded = false;

  constructor(steps: BuildSteps) {
    this.#steps = steps;
  }

  take(text: string, at: Date): void {
    const line = text.trimEnd();
    const found = STEP.exec(line);
    const step = this.#current?.step ?? '';
    if (found && this.#isNext(found)) this.#begin(found, at);
    else if (this.#hasEnded)
      return; // the names and ids of images, those of other builds among them
    else if (CACHED.test(line)) this.#end('CACHED', at);
    else if (ENDED.test(line)) this.#end('COMPLETED', at);
    else this.#steps.print(step, 'stdout', Buffer.from(text), at);
  }

  #end(state: 'CACHED' | 'COMPLETED', at: Date): void {
    if (this.#current) this.#steps.report(this.#current.step, this.#current.name, state, at);
    this.#hasEnded = true;
  }

  #begin([, stage, number, total, instruction]: RegExpExecArray, at: Date): void {
    this.#steps.end('COMPLETED', at);
    const prefix = stage === undefined ? '' : `stage-${Number(stage) - 1} `;
    const step = `${prefix}${number}/${total}`;
    this.#current = {
      step,
      name: `[${step}] ${instruction}`,
      stage: Number(stage ?? 1),
      number: Number(number),
      total: Number(total),
    };
    this.#hasEnded = false;
    this.#steps.report(step, this.#current.name, 'RUNNING', at);
  }

  #isNext([, stage = '1', number, total]: RegExpExecArray): boolean {
    const current = this.#current;
    if (current === null || Number(stage) > current.stage) return Number(number) === 1;
    return Number(stage) === current.stage && Number(number) === current.number + 1 && Number(total) === current.total;
  }
}
