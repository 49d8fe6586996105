/**
 * Limits what a Dockerfile may make the engine itself fetch. Steps have the network of containers, but the images that a Dockerfile
 * names, and the addresses of an ADD, are asked for by the engine, in the network of the machine: they could name a cloud's
 * metadata service, or Podyard itself. Images follow the policy of registries, and an ADD takes files of the folder alone.
 *
 * Lines of a here-document are read as instructions, too: an older engine would run them as such.
 */
import { Failure } from '../../core/errors.ts';
import { checkRegistryAddress, findImageRefusal } from '../../domain/images/registry-policy.ts';
import type { BuildRequest } from '../builder.ts';

interface Instruction {
  line: number;
  name: string;
  words: string[];
  /** It is one line, and no part of a longer one. */
  isWhole: boolean;
  /** It was behind an ONBUILD. */
  isTrigger: boolean;
}

/** The names that stages may have. Another one would let a line of a here-document hide an image of that name. */
const STAGE = /^[a-z][a-z0-9_.-]*$/i;

/** Frontends that BuildKit may run in its place: others could ask it for anything. */
const FRONTEND = /^(?:docker\.io\/)?docker\/dockerfile(?:-upstream)?(?::[\w.-]+)?(?:@sha256:[0-9a-f]{64})?$/;

const FETCHED = /^(?:[a-z][a-z0-9+.-]*:\/\/|git@|github\.com\/)|\$/i;

/** A line of a Dockerfile that begins a stage with an image. */
export interface BaseLine {
  /** From 1. */
  line: number;
  /** Without the variables of the line. */
  image: string;
  /** The line, with another image in its place. */
  replaced(reference: string): string;
  /** Values of the variables that its triggers name. */
  names: Names;
}

interface Rules extends Pick<BuildRequest, 'args' | 'admitBase'> {
  /** `linux/amd64`, for example. */
  platform: string;
}

/** Values of the variables that instructions name. */
interface Names {
  stages: ReadonlySet<string>;
  values: Readonly<Record<string, string>>;
}

/**
 * Throws `unprocessable` with the line, if the Dockerfile names what it may not, and with what `admitBase` says of an image.
 * Returns the lines that begin with an image, whose triggers are still to be checked. `name`: its path, for the sentence.
 */
export async function checkDockerfile(name: string, text: string, rules: Rules): Promise<BaseLine[]> {
  const syntax = syntaxOf(text);
  if (syntax !== null && !FRONTEND.test(syntax))
    throw refusal(name, 1, `the syntax '${syntax}' is not allowed here, only docker/dockerfile`);
  const values: Record<string, string> = {};
  /** Those before the first stage: the only ones that a FROM has. */
  const presets: Record<string, string> = platformValues(rules.platform);
  const stages = new Set<string>(['scratch']);
  const names: Names = { stages, values };
  const bases: BaseLine[] = [];
  let hasStage = false;
  for (const instruction of instructionsOf(text)) {
    const { line, words, isWhole, isTrigger } = instruction;
    const refuse = (detail: string) => refusal(name, line, detail);
    if (instruction.name === 'ARG') {
      addArg(words, rules.args, values);
      if (!hasStage) addArg(words, rules.args, presets);
    }
    if (instruction.name === 'FROM') {
      if (!isWhole) throw refuse('FROM begins a line of its own, which has its image as well and does not go on');
      hasStage = true;
      const base = baseOf(instruction, presets, rules.platform, refuse);
      if (base !== null && !isTrigger && !stages.has(base.image.toLowerCase())) bases.push({ ...base, names });
      if (base !== null) await checkImage(base.image, names, rules, refuse);
      const [as, stage] = words.filter((word) => !word.startsWith('--')).slice(1);
      if (as?.toLowerCase() === 'as' && STAGE.test(stage ?? '')) stages.add(stage!.toLowerCase());
    } else await checkInstruction(instruction, names, rules, refuse);
  }
  return bases;
}

/** Throws `unprocessable` if an image has a trigger (ONBUILD) that a Dockerfile may not have as a line. */
export async function checkTriggers(
  name: string,
  base: BaseLine,
  triggers: readonly string[],
  rules: Rules,
): Promise<void> {
  const refuse = (detail: string) => refusal(name, base.line, `the image '${base.image}' has a trigger: ${detail}`);
  for (const trigger of triggers)
    for (const instruction of instructionsOf(trigger)) await checkInstruction(instruction, base.names, rules, refuse);
}

async function checkInstruction(
  { name, words }: Instruction,
  names: Names,
  rules: Rules,
  refuse: (detail: string) => Failure,
): Promise<void> {
  if (name !== 'COPY' && name !== 'ADD' && name !== 'RUN') return;
  if (name === 'ADD') {
    const fetched = words.find((word) => !word.startsWith('--') && FETCHED.test(word.replace(/^[["'\s,]+/, '')));
    if (fetched !== undefined)
      throw refuse(
        `ADD takes files of the folder only, not '${fetched}': fetch it in a RUN step, and name files without variables`,
      );
  }
  const images = words.filter((word) => word.startsWith('--')).flatMap(fromOf);
  for (const image of images.map((one) => resolve(one, names.values)))
    if (!/^\d+$/.test(image)) await checkImage(image, names, rules, refuse);
}

async function checkImage(
  image: string,
  { stages }: Names,
  { admitBase }: Rules,
  refuse: (detail: string) => Failure,
): Promise<void> {
  if (stages.has(image.toLowerCase())) return;
  const fault = findImageRefusal(image);
  if (fault !== null) throw refuse(fault);
  await checkRegistryAddress(image);
  await admitBase(image).catch((error) => Promise.reject(placed(error, refuse)));
}

/** Reads a FROM. Null without an image, which the engine refuses. */
function baseOf(
  { line, words }: Instruction,
  values: Readonly<Record<string, string>>,
  platform: string,
  refuse: (detail: string) => Failure,
): Omit<BaseLine, 'names'> | null {
  const at = words.findIndex((word) => !word.startsWith('--'));
  if (at === -1) return null;
  const wanted = words.slice(0, at).flatMap((flag) => /^--platform=(.*)$/.exec(flag)?.slice(1) ?? []);
  for (const one of wanted.map((flag) => resolve(flag, values)))
    if (!isPlatform(one, platform)) throw refuse(`this machine builds for ${platform}, not for '${one}'`);
  const replaced = (reference: string) => ['FROM', ...words.with(at, reference)].join(' ');
  return { line, image: resolve(words[at]!, values), replaced };
}

/** Variables that FROM lines have without an ARG. */
function platformValues(platform: string): Record<string, string> {
  const [os = '', arch = ''] = platform.split('/');
  const of = (name: string) => ({ [`${name}PLATFORM`]: platform, [`${name}OS`]: os, [`${name}ARCH`]: arch });
  return { ...of('TARGET'), ...of('BUILD') };
}

const SAME_ARCH: Record<string, string> = { x86_64: 'amd64', 'x86-64': 'amd64', aarch64: 'arm64' };

/** `linux/amd64`, `linux/arm64/v8`, or one of the two alone. */
function isPlatform(text: string, platform: string): boolean {
  const parts = text.toLowerCase().split('/').slice(0, 2);
  const own = platform.split('/');
  const known = parts.map((part) => SAME_ARCH[part] ?? part);
  return known.length === 2 ? known.join('/') === platform : own.includes(known[0]!);
}

/** Returns what the comments at the top name as the syntax. Newer engines also take it from a JSON text in their place. */
function syntaxOf(text: string): string | null {
  if (text.trimStart().startsWith('{')) return 'JSON';
  for (const raw of text.split('\n')) {
    const line = raw.trim();
    if (line !== '' && !line.startsWith('#') && !line.startsWith('//')) return null;
    const [, syntax] = /^(?:#|\/\/)\s*syntax\s*=\s*(\S+)/i.exec(line) ?? [];
    if (syntax !== undefined) return syntax;
  }
  return null;
}

/** Adds the place to what is wrong with an image; other errors stay as they are. */
function placed(error: unknown, refuse: (detail: string) => Failure): unknown {
  const isItsFault = error instanceof Failure && error.kind !== 'unavailable';
  return isItsFault ? refuse(error.message.replace(/^image: |\.$/g, '')) : error;
}

function refusal(name: string, line: number, detail: string): Failure {
  return new Failure('unprocessable', `${name}, line ${line}: ${detail}.`);
}

/**
 * A line that ends in `\` or a backtick continues on the next one; comments and empty lines between them do not end it. Engines disagree
 * about the character, so both readings are checked.
 */
function instructionsOf(text: string): Instruction[] {
  const found: Instruction[] = [];
  let begun: { line: number; text: string } | null = null;
  // Engines take the control character NEL for a blank, which JavaScript does not.
  for (const [index, raw] of text.replaceAll('\u0085', ' ').split(/\r?\n/).entries()) {
    const trimmed = raw.trim();
    if (trimmed === '' || trimmed.startsWith('#')) continue;
    const goesOn = /[\\`]$/.test(trimmed);
    if (begun === null && !goesOn) {
      found.push(instructionOf(index + 1, trimmed, true));
      continue;
    }
    found.push(instructionOf(index + 1, trimmed, false));
    begun ??= { line: index + 1, text: '' };
    begun.text += goesOn ? raw.trimEnd().slice(0, -1) : raw;
    if (goesOn) continue;
    found.push(instructionOf(begun.line, begun.text, false));
    begun = null;
  }
  if (begun !== null) found.push(instructionOf(begun.line, begun.text, false));
  return found;
}

function instructionOf(line: number, text: string, isWhole: boolean): Instruction {
  const [name = '', ...words] = text.trim().split(/\s+/);
  if (name.toUpperCase() === 'ONBUILD') return { ...instructionOf(line, words.join(' '), isWhole), isTrigger: true };
  return { line, name: name.toUpperCase(), words, isWhole, isTrigger: false };
}

/** `--from=image` of a COPY, and `--mount=type=bind,from=image` of a RUN. */
function fromOf(flag: string): string[] {
  return [...flag.matchAll(/(?:^--|,|=)from=["']?([^,"']+)/g)].map(([, image]) => image!);
}

function addArg(words: string[], args: Readonly<Record<string, string>>, values: Record<string, string>): void {
  for (const word of words) {
    const [, name, preset] = /^(\w+)(?:=(.*))?$/.exec(word) ?? [];
    if (name === undefined) continue;
    const value = Object.hasOwn(args, name) ? args[name] : preset?.replace(/^(["'])(.*)\1$/, '$2');
    if (value !== undefined) values[name] = resolve(value, values);
  }
}

/** Replaces `$NAME`, `${NAME}`, `${NAME:-preset}` and `${NAME:+other}`. One without a value is empty, as for the engine. */
function resolve(text: string, values: Readonly<Record<string, string>>): string {
  return text.replace(/\$(?:(\w+)|\{(\w+)(?::?([-+])([^${}]*))?\})/g, (_, bare, name, sign, word) => {
    const value = values[bare ?? name] ?? '';
    if (sign === '-') return value === '' ? word : value;
    if (sign === '+') return value === '' ? '' : word;
    return value;
  });
}
