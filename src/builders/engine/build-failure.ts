import { Failure } from '../../core/errors.ts';
import { pullFailure } from '../../domain/images/pull-failure.ts';
import type { BuildLimits, BuildRequest } from '../builder.ts';
import { saysDiskIsFull } from '../free-disk.ts';
import type { FailedStep } from './build-steps.ts';

/** The facts about a build that failed. */
export interface FailedBuild {
  request: BuildRequest;
  limits: BuildLimits;
  dockerfile: string;
  step: FailedStep | null;
  missedSecrets: readonly string[];
}

const NO_NETWORK =
  /name resolution|could not resolve|couldn't resolve|bad address|no such host|getaddrinfo|EAI_AGAIN|ENOTFOUND|network is unreachable|name or service not known/i;
/** The exit code of a killed step with BuildKit, and the last line of one with Buildah. */
const KILLED = 137;
const KILLED_LINE = 'container exited on killed';
/** Words of Buildah where the kernel chose the program that starts the step, which counts towards its memory. */
const RUNTIME_KILLED = /while running runtime: signal: killed/;

/** Returns why a build failed, by the words of the engine, as a sentence for users. */
export function buildFailure(words: string, build: FailedBuild): Failure {
  const { dockerfile, request, step } = build;
  const refuse = (text: string) => new Failure('unprocessable', text, { cause: new Error(words) });
  const parsed = /parse error (?:on )?line (\d+): (.+)/is.exec(words);
  if (parsed) return refuse(`${dockerfile}, line ${parsed[1]}: ${parsed[2]!.trim()}.`);
  if (saysDiskIsFull(words) || step?.lastLines.some(saysDiskIsFull)) {
    const text = `The disk of the engine's machine is full${step ? `, in step '${step.name}'` : ''}.`;
    return new Failure('unavailable', text, { cause: new Error(words) });
  }
  const stage = /target stage "?(\S+?)"? could not be found|invalid reference to stage|target stage (\S+) /i.exec(
    words,
  );
  if (stage) return refuse(`${dockerfile} has no stage '${request.recipe.target}'.`);
  const base = baseOf(step?.name ?? '') ?? baseOf(words);
  if (base !== null) return pullFailure(base, new Error(words), credentialsFor(base, request));
  const exitCode = /exit code: (\d+)|exit status (\d+)/.exec(words);
  if (step && exitCode) return refuse(stepText(build, step, Number(exitCode[1] ?? exitCode[2])));
  if (step && RUNTIME_KILLED.test(words)) return refuse(stepText(build, step, KILLED));
  const missing = /"(\/[^"]*)"[^"]*not found/.exec(words)?.[1];
  if (step && missing !== undefined)
    return refuse(`Step '${step.name}' needs '${missing}', which is not in the folder.`);
  const secrets = secretText(build);
  if (secrets !== '') return refuse(`${step ? `Step '${step.name}' failed.` : 'The build failed.'}${secrets}`);
  return refuse(
    `${step ? `Step '${step.name}' failed` : `${dockerfile} cannot be built`}: ${words.replace(/\.$/, '')}.`,
  );
}

function stepText(build: FailedBuild, { name, lastLines }: FailedStep, exitCode: number): string {
  const memory = `${Math.round(build.limits.memoryBytes / 2 ** 20)} MiB`;
  const isKilled = exitCode === KILLED || lastLines.at(-1) === KILLED_LINE;
  const why = isKilled ? ` It was killed, as one is that needs more memory than a build has (${memory}).` : '';
  const network = lastLines.some((line) => NO_NETWORK.test(line))
    ? ' It needs a network, and could not reach it or resolve a name.'
    : '';
  const last = lastLines.length > 0 ? ` Its last lines:\n${lastLines.join('\n')}` : '';
  return `Step '${name}' failed with exit code ${exitCode}.${why}${network}${secretText(build)}${last}`;
}

function secretText({ missedSecrets }: FailedBuild): string {
  if (missedSecrets.length === 0) return '';
  return ` It asks for secrets that the build was not given: ${missedSecrets.join(', ')}.`;
}

/** Returns the image that a step pulls, by the step's name or by the engine's words. */
function baseOf(step: string): string | null {
  const [, ofMetadata, ofStep] = /load metadata for (\S+)|^\[[^\]]+\] FROM (.+)/.exec(step) ?? [];
  const name = ofMetadata ?? ofStep?.split(' ').find((word) => !word.startsWith('--'));
  return name?.replace(/^docker\.io\/(?:library\/)?/, '') ?? null;
}

function credentialsFor(image: string, { registries }: BuildRequest) {
  const host = Object.keys(registries).find((registry) => image.startsWith(`${registry}/`));
  return registries[host ?? 'docker.io'];
}
