import { Failure } from '../../core/errors.ts';
import { DEFAULT_REVISION } from './model-text.ts';

/** Where a model is, as a client names it. */
export type ModelReference =
  /** `revision`: a branch, a tag or a commit. */
  | { source: 'HUB'; name: string; revision: string }
  /** `sha256`: of the file, in hex. */
  | { source: 'HTTPS'; url: string; sha256: string };

export const MAX_REFERENCE_LENGTH = 1_000;

/** Pages of the public hub, which clients send whole. */
const HUB_PAGE = /^https:\/\/(?:www\.)?(?:huggingface\.co|hf\.co)\//i;
/** An owner, and the name of its repository: 96 characters each, as the hub permits them. */
const NAME = /^[\w.-]{1,96}\/[\w.-]{1,96}$/;
/** What Git permits in a branch or tag, less what it gives a meaning in a URL. */
const REVISION = /^\w[\w./+-]{0,254}$/;
const SHA256 = /^[0-9a-f]{64}$/;

/**
 * Reads `hf:ORG/NAME`, `ORG/NAME` or `https://huggingface.co/ORG/NAME`, each with an optional `@revision` or `:revision`, and
 * `https://host/file#sha256=<hex>`. Throws `badRequest` with what is wrong, to follow the name of a field.
 */
export function parseModelReference(text: string): ModelReference {
  if (text.length > MAX_REFERENCE_LENGTH) throw refuse(`must not be longer than ${MAX_REFERENCE_LENGTH} characters`);
  if (/^s3:/i.test(text)) throw refuse('models in S3 cannot be fetched yet: use hf: or https://');
  if (/^oci:/i.test(text)) throw refuse('models in registries cannot be fetched yet: use hf: or https://');
  if (/^http:/i.test(text)) throw refuse('models are fetched with TLS alone: write https://');
  if (HUB_PAGE.test(text)) return parsePage(text, text.replace(HUB_PAGE, ''));
  if (/^https:/i.test(text)) return parseFile(text);
  return parseRepository(text, text.replace(/^hf:/i, ''));
}

/** A page names a revision also as `/tree/<revision>`. */
function parsePage(text: string, rest: string): ModelReference {
  const [path = ''] = rest.split(/[?#]/, 1);
  const [owner = '', name = '', view, ...revision] = path.replace(/\/$/, '').split('/');
  const isTree = view === 'tree' && revision.length > 0 && !/[@:]/.test(name);
  return parseRepository(text, isTree ? `${owner}/${name}@${revision.join('/')}` : path.replace(/\/$/, ''));
}

function parseRepository(text: string, rest: string): ModelReference {
  const at = rest.search(/[@:]/);
  const [name, revision] = at < 0 ? [rest, DEFAULT_REVISION] : [rest.slice(0, at), rest.slice(at + 1)];
  const hasDots = name.split('/').some((part) => /^[.-]|\.\.|--|[.-]$|\.git$/.test(part));
  if (!NAME.test(name) || hasDots) {
    throw refuse(`${quoted(text)} is not a model: write hf:OWNER/NAME, such as hf:Qwen/Qwen3-8B, or https://…`);
  }
  if (!REVISION.test(revision) || /\.\.|\/\/|\.lock$|[/.]$/.test(revision)) {
    throw refuse(`${quoted(text)}: ${quoted(revision)} is not a revision: write a branch, a tag or a commit`);
  }
  return { source: 'HUB', name, revision };
}

function parseFile(text: string): ModelReference {
  if (!URL.canParse(text) || /[\s\p{Cc}]/u.test(text)) throw refuse(`${quoted(text)} is not a URL`);
  const url = new URL(text);
  const [, digest = ''] = /^#sha256=(.+)$/i.exec(url.hash) ?? [];
  const sha256 = digest.toLowerCase();
  url.hash = '';
  const shown = `'https://${url.host}${url.pathname}'`; // a query or a password may be secret
  if (url.username !== '' || url.password !== '') throw refuse(`${shown}: must have no user and no password`);
  if (url.search !== '') throw refuse(`${shown}: must have no query: models are named by their URL for good`);
  if (url.pathname.endsWith('/')) throw refuse(`${shown}: must end with the name of a file`);
  if (!SHA256.test(sha256)) {
    throw refuse(`${shown} needs the SHA-256 of the file: add #sha256= and its 64 hexadecimal digits`);
  }
  return { source: 'HTTPS', url: url.href, sha256 };
}

function quoted(text: string): string {
  const short = text.length > 100 ? `${text.slice(0, 100)}…` : text;
  return `'${short.replace(/[\p{Cc}\u2028\u2029]/gu, ' ')}'`;
}

function refuse(problem: string): Failure {
  return new Failure('badRequest', problem);
}
