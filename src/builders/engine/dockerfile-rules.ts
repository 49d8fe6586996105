/**
 * What a Dockerfile may make the engine itself fetch. Steps have the network of containers, but the images that a Dockerfile
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
}

/** Frontends that BuildKit may run in its place: others could ask it for anything. */
const FRONTEND = /^(?:docker\.io\/)?docker\/dockerfile(?:-upstream)?(?::[\w.-]+)?(?:@sha256:[0-9a-f]{64})?$/;

const FETCHED = /^(?:[a-z][a-z0-9+.-]*:\/\/|git@|github\.com\/)|\$/i;

/**
 * Throws `unprocessable` with the line, if the Dockerfile names what it may not, and with what `admitBase` says of an image. `name`:
 * its path, for the sentence.
 */
export async function checkDockerfile(
  name: string,
  text: string,
  { args, admitBase }: Pick<BuildRequest, 'args' | 'admitBase'>,
): Promise<void> {
  const syntax = syntaxOf(text);
  if (syntax !== null && !FRONTEND.test(syntax))
    throw refusal(name, 1, `the syntax '${syntax}' is not allowed here, only docker/dockerfile`);
  const values: Record<string, string> = {};
  const stages = new Set<string>(['scratch']);
  for (const { line, name: instruction, words } of instructionsOf(text)) {
    const refuse = (detail: string) => refusal(name, line, detail);
    if (instruction === 'ARG') addArg(words, args, values);
    const images: string[] = [];
    if (instruction === 'FROM') {
      const [image, as, stage] = words.filter((word) => !word.startsWith('--'));
      if (image !== undefined) images.push(image);
      if (as?.toLowerCase() === 'as' && stage !== undefined) stages.add(stage.toLowerCase());
    }
    if (instruction === 'COPY' || instruction === 'ADD' || instruction === 'RUN')
      images.push(...words.filter((word) => word.startsWith('--')).flatMap(fromOf));
    if (instruction === 'ADD') {
      const fetched = words.find((word) => !word.startsWith('--') && FETCHED.test(word.replace(/^[["'\s,]+/, '')));
      if (fetched !== undefined)
        throw refuse(
          `ADD takes files of the folder only, not '${fetched}': fetch it in a RUN step, and name files without variables`,
        );
    }
    for (const image of images.map((one) => resolve(one, values))) {
      if (stages.has(image.toLowerCase()) || /^\d+$/.test(image)) continue;
      const fault = findImageRefusal(image);
      if (fault !== null) throw refuse(fault);
      await checkRegistryAddress(image);
      await admitBase(image).catch((error) => Promise.reject(placed(error, refuse)));
    }
  }
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

/** Lines that end in `\` or a backtick go on; comments between them do not end them. */
function instructionsOf(text: string): Instruction[] {
  const found: Instruction[] = [];
  let begun: { line: number; text: string } | null = null;
  for (const [index, raw] of text.split(/\r?\n/).entries()) {
    const trimmed = raw.trim();
    if (trimmed === '' || trimmed.startsWith('#')) continue;
    begun ??= { line: index + 1, text: '' };
    begun.text += ` ${trimmed.replace(/[\\`]$/, '')}`;
    // A line that goes on for one engine may be one of its own for another: both are read.
    if (begun.text.trim() !== trimmed) found.push(instructionOf(index + 1, trimmed));
    if (/[\\`]$/.test(trimmed)) continue;
    found.push(instructionOf(begun.line, begun.text));
    begun = null;
  }
  if (begun !== null) found.push(instructionOf(begun.line, begun.text));
  return found;
}

function instructionOf(line: number, text: string): Instruction {
  const [name = '', ...words] = text.trim().split(/\s+/);
  const isTrigger = name.toUpperCase() === 'ONBUILD';
  return isTrigger ? instructionOf(line, words.join(' ')) : { line, name: name.toUpperCase(), words };
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
