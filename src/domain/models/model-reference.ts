import { Failure } from '../../core/errors.ts';
import { parseImageReference } from '../images/image-reference.ts';
import { DEFAULT_REVISION } from './model-text.ts';
import { parseObjectName, textOf } from './object-name.ts';

/** Where a model is, as a client names it. */
export type ModelReference =
  /** `revision`: a branch, a tag or a commit. */
  | { source: 'HUB'; name: string; revision: string }
  /** `sha256`: of the file, in hex. */
  | { source: 'HTTPS'; url: string; sha256: string }
  /** `name`: as `parseObjectName` reads it. */
  | { source: 'S3'; name: string; sha256: string }
  /** An artifact: at a tag, or with the digest of its manifest. */
  | { source: 'OCI'; registry: string; repository: string; tag: string | null; digest: string | null };

export const MAX_REFERENCE_LENGTH = 1_000;

/** Pages of the public hub, which clients send whole. */
const HUB_PAGE = /^https:\/\/(?:www\.)?(?:huggingface\.co|hf\.co)\//i;
/** An owner, and the name of its repository: 96 characters each, as the hub permits them. */
const NAME = /^[\w.-]{1,96}\/[\w.-]{1,96}$/;
/** Characters that Git permits in a branch or tag, without those that have a meaning in a URL. */
const REVISION = /^\w[\w./+-]{0,254}$/;
const SHA256 = /^[0-9a-f]{64}$/;
const DIGEST = /^sha256:[0-9a-f]{64}$/;

/**
 * Reads `hf:ORG/NAME`, `ORG/NAME` or `https://huggingface.co/ORG/NAME`, each with an optional `@revision` or `:revision`,
 * `https://host/file#sha256=<hex>`, `s3://bucket/key#sha256=<hex>`, and `oci://registry/repository` with a tag or a digest. Throws `badRequest` with what is wrong, to follow the name of a field.
 */
export function parseModelReference(text: string): ModelReference {
  if (text.length > MAX_REFERENCE_LENGTH) throw refuse(`must not be longer than ${MAX_REFERENCE_LENGTH} characters`);
  if (/^s3:/i.test(text)) return parseObject(text);
  if (/^oci:/i.test(text)) return parseArtifact(text);
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
  const { name, sha256 } = splitDigest(text);
  if (!URL.canParse(name)) throw refuse(`${quoted(text)} is not a URL`);
  const url = new URL(name);
  const shown = `'https://${url.host}${url.pathname}'`; // a query or a password may be secret
  if (url.username !== '' || url.password !== '') throw refuse(`${shown}: must have no user and no password`);
  if (url.search !== '') throw refuse(`${shown}: must have no query: models are named by their URL for good`);
  if (url.pathname.endsWith('/')) throw refuse(`${shown}: must end with the name of a file`);
  checkDigest(shown, sha256);
  return { source: 'HTTPS', url: url.href, sha256 };
}

function parseObject(text: string): ModelReference {
  const { name, sha256 } = splitDigest(text);
  if (!/^s3:\/\//i.test(name)) throw refuse(`${quoted(text)} is not a model: write s3://BUCKET/KEY#sha256=…`);
  const object = parseObjectName(name);
  if ('fault' in object) throw refuse(`${quoted(name)}: ${object.fault}`);
  checkDigest(quoted(name), sha256);
  return { source: 'S3', name: textOf(object), sha256 };
}

function parseArtifact(text: string): ModelReference {
  if (/[\s\p{Cc}]/u.test(text)) throw refuse(`${quoted(text)} is not an artifact`);
  const name = text.replace(/^oci:(?:\/\/)?/i, '');
  const parsed = parseImageReference(name);
  if ('fault' in parsed) throw refuse(`${quoted(text)} is not an artifact: ${parsed.fault}`);
  const { registry, repository, tag, digest } = parsed;
  if (!name.startsWith(`${registry}/`))
    throw refuse(
      `${quoted(text)} names no registry: write oci://REGISTRY/REPOSITORY, such as oci://docker.io/ai/qwen3`,
    );
  if (digest !== null && !DIGEST.test(digest)) throw refuse(`${quoted(text)}: the digest must be a SHA-256`);
  return { source: 'OCI', registry, repository, tag: digest === null ? (tag ?? 'latest') : null, digest };
}

/** Takes the digest off the end. Throws for text that no URL could be. */
function splitDigest(text: string): { name: string; sha256: string } {
  if (/[\s\p{Cc}]/u.test(text)) throw refuse(`${quoted(text)} is not a URL`);
  const hash = text.indexOf('#');
  const [, digest = ''] = /^#sha256=(.+)$/i.exec(hash < 0 ? '' : text.slice(hash)) ?? [];
  return { name: hash < 0 ? text : text.slice(0, hash), sha256: digest.toLowerCase() };
}

function checkDigest(shown: string, sha256: string): void {
  if (SHA256.test(sha256)) return;
  throw refuse(`${shown} needs the SHA-256 of the file: add #sha256= and its 64 hexadecimal digits`);
}

function quoted(text: string): string {
  const short = text.length > 100 ? `${text.slice(0, 100)}…` : text;
  return `'${short.replace(/[\p{Cc}\u2028\u2029]/gu, ' ')}'`;
}

function refuse(problem: string): Failure {
  return new Failure('badRequest', problem);
}
