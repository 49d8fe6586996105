import { isUtf8 } from 'node:buffer';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { dirname, join } from 'node:path';
import { Failure } from '../../core/errors.ts';
import type { GitCommit } from '../../domain/builds/build.ts';
import { MAX_FILE_BYTES, MAX_FOLDER_BYTES, MAX_FOLDER_ENTRIES } from '../../domain/builds/check-folder.ts';
import { findGitFault } from '../../domain/git-sources/git-program.ts';
import { matchesTag } from '../../domain/git-sources/git-source.ts';
import type { DueSource } from '../../domain/git-sources/git-source-store.ts';
import { addressOf } from '../../domain/git-sources/git-url.ts';
import { gitFailure } from './git-failure.ts';
import { runGit } from './run-git.ts';

/** Length of a list of refs or files. */
const MAX_OUTPUT_BYTES = 32 * 2 ** 20;
const MAX_TEXT = 200;
/** A variable by which what a killed server has left is found. */
export const GIT_MARKER = 'PODYARD_GIT_FOLDER';
const FETCHED = 'refs/podyard/seen';

export interface Head {
  commit: string;
  ref: string;
}

/** `submodules`: paths in the folder at which the commit has another repository. */
export interface CheckedOut {
  root: string;
  submodules: string[];
}

interface Access {
  /** The address that the host's name stands for, and no other. */
  address: string;
  token: string | null;
  privateKey: string | null;
}

interface Limits {
  /** Where git and ssh are: `PATH`. */
  path: string;
  /** Bytes of everything that is fetched, and of each file. */
  maxBytes: number;
  signal: AbortSignal;
}

/**
 * A repository, read with git and without trust: it prompts for nothing, runs no hook, filter, submodule or helper of credentials,
 * follows no redirect, and connects to the one address that was allowed. Everything is in a folder, which the caller removes.
 */
export class GitRepository {
  readonly #source: DueSource;
  readonly #folder: string;
  readonly #access: Access;
  readonly #limits: Limits;
  readonly #env: Readonly<Record<string, string>>;

  private constructor(source: DueSource, folder: string, access: Access, limits: Limits) {
    this.#source = source;
    this.#folder = folder;
    this.#access = access;
    this.#limits = limits;
    this.#env = environmentOf(source, folder, access, limits);
  }

  /** `folder`: does not exist yet. Throws `unprocessable` without a git that will do. */
  static async open(source: DueSource, folder: string, access: Access, limits: Limits): Promise<GitRepository> {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const write = (name: string, text: string) => writeFile(join(folder, name), text, { mode: 0o600 });
    await write('config', configOf(source, access));
    await write('known_hosts', source.knownHosts);
    if (access.privateKey !== null) await write('key', access.privateKey);
    const repository = new GitRepository(source, folder, access, limits);
    const fault = findGitFault((await repository.#git(['--version'])).toString());
    if (fault !== null)
      throw new Failure('unprocessable', `The server’s git ${fault}: install another, then sync again.`);
    return repository;
  }

  /** Returns the commit that the source's branch, or its highest tag, names. Throws `unprocessable` with why there is none. */
  async findHead(): Promise<Head> {
    const { url, branch, tags } = this.#source;
    const pattern = branch === null ? `refs/tags/${tags}` : `refs/heads/${branch}`;
    const text = (await this.#git(['ls-remote', '--sort=-version:refname', url, pattern])).toString();
    for (const [, commit, ref] of text.matchAll(/^([0-9a-f]{40,64})\t(refs\/\S+)$/gm)) {
      const isWanted = branch === null ? matchesTag(pattern, ref!) && !ref!.endsWith('^{}') : ref === pattern;
      if (isWanted) return { commit: peeled(text, ref!) ?? commit!, ref: ref! };
    }
    const what = branch === null ? `no tag that matches '${tags}'` : `no branch '${branch}' (any more)`;
    throw new Failure('unprocessable', `The repository ${url} has ${what}.`);
  }

  /** Fetches what the ref names by now, that commit alone, and returns it. */
  async fetch({ ref }: Head): Promise<GitCommit> {
    const { url } = this.#source;
    await this.#git(['init', '--quiet', '--bare', 'repository']);
    await this.#git([
      ...BARE,
      'fetch',
      '--quiet',
      '--depth=1',
      '--no-tags',
      '--no-write-fetch-head',
      url,
      `+${ref}:${FETCHED}`,
    ]);
    const format = '--format=%H%x00%an%x00%s';
    const text = (
      await this.#git([...BARE, 'show', '--no-patch', '--no-show-signature', format, `${FETCHED}^{commit}`])
    ).toString();
    const [commit = '', author = '', message = ''] = text.trimEnd().split('\0');
    return { url, commit, ref, author: shown(author), message: shown(message) };
  }

  /** Writes the source's folder as the fetched commit has it, without submodules. Throws `unprocessable` for one that cannot be. */
  async checkOut({ commit }: GitCommit): Promise<CheckedOut> {
    const { folder } = this.#source;
    const tree = `${commit}:${folder}`;
    const isTree = await this.#try([...BARE, 'cat-file', '-t', tree]);
    if (isTree?.toString().trim() !== 'tree') {
      throw new Failure('unprocessable', `The commit ${commit.slice(0, 7)} has no folder '${folder}'.`);
    }
    const submodules = checkTree(await this.#git([...BARE, 'ls-tree', '-r', '-z', '-l', tree]));
    await mkdir(join(this.#folder, 'files'));
    await this.#git([...BARE, 'read-tree', tree]);
    await this.#git([...BARE, '--work-tree=files', 'checkout-index', '--all', '--quiet']);
    return { root: join(this.#folder, 'files'), submodules };
  }

  /** Returns the host keys that are known by now. */
  async readKnownHosts(): Promise<string> {
    return readFile(join(this.#folder, 'known_hosts'), 'utf8').catch(() => this.#source.knownHosts);
  }

  async #git(args: readonly string[]): Promise<Buffer> {
    const result = await this.#run(args);
    if (result.end === 0 && !result.isTooLong) return result.stdout;
    const { token, privateKey } = this.#access;
    const secrets = token === null ? [] : [token, basicOf(this.#source, token)];
    if (privateKey !== null) secrets.push(...privateKey.split('\n'));
    throw gitFailure(this.#source, result, { secrets, maxBytes: this.#limits.maxBytes });
  }

  async #try(args: readonly string[]): Promise<Buffer | null> {
    const { end, stdout } = await this.#run(args);
    return end === 0 ? stdout : null;
  }

  #run(args: readonly string[]) {
    const { maxBytes, signal } = this.#limits;
    const limits = { maxFileBytes: maxBytes, maxOutputBytes: MAX_OUTPUT_BYTES, signal };
    return runGit({ args, folder: this.#folder, env: this.#env, ...limits });
  }
}

const BARE = ['--git-dir=repository'];

function environmentOf(
  { url }: DueSource,
  folder: string,
  { address }: Access,
  { path }: Limits,
): Record<string, string> {
  const { protocol, host, port } = addressOf(url);
  const hostName = port === 22 ? host : `[${host}]:${port}`;
  const ssh = [
    ...['ssh', '-F', '/dev/null', '-i', quoted(join(folder, 'key'))],
    ...['BatchMode=yes', 'IdentitiesOnly=yes', 'IdentityAgent=none', 'StrictHostKeyChecking=accept-new'].map(
      (one) => `-o ${one}`,
    ),
    ...[
      `UserKnownHostsFile=${quoted(join(folder, 'known_hosts'))}`,
      'GlobalKnownHostsFile=/dev/null',
      'HashKnownHosts=no',
    ].map((one) => `-o ${one}`),
    ...['ConnectTimeout=30', 'ServerAliveInterval=15', 'ServerAliveCountMax=4', 'UpdateHostKeys=no'].map(
      (one) => `-o ${one}`,
    ),
    ...[`HostName=${address}`, `HostKeyAlias=${quoted(hostName)}`, 'ProxyCommand=none', 'CheckHostIP=no'].map(
      (one) => `-o ${one}`,
    ),
  ];
  return {
    PATH: path,
    HOME: folder,
    LC_ALL: 'C',
    [GIT_MARKER]: dirname(folder),
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: join(folder, 'config'),
    GIT_ATTR_NOSYSTEM: '1',
    GIT_TERMINAL_PROMPT: '0',
    GIT_ALLOW_PROTOCOL: protocol,
    GIT_SSH_COMMAND: ssh.join(' '),
    GIT_SSH_VARIANT: 'ssh',
  };
}

/** Read by git alone, because arguments of a process are for everyone to read. */
function configOf(source: DueSource, { address, token }: Access): string {
  const { protocol, host, port } = addressOf(source.url);
  const bare = host.replace(/^\[|\]$/g, '');
  const pinned = `${host}:${port}:${isIP(address) === 6 ? `[${address}]` : address}`;
  return [
    '[core]\n\thooksPath = /dev/null\n\tfsmonitor = false\n\taskPass =\n\tbigFileThreshold = 32m\n\tprotectHFS = true\n\tprotectNTFS = true',
    '[credential]\n\thelper =',
    '[protocol]\n\tversion = 2',
    '[fetch]\n\trecurseSubmodules = false\n\tunpackLimit = 1',
    '[transfer]\n\tbundleURI = false',
    '[submodule]\n\trecurse = false',
    '[gc]\n\tauto = 0',
    '[maintenance]\n\tauto = false',
    '[pack]\n\tthreads = 1',
    '[index]\n\tthreads = 1',
    '[versionsort]\n\tsuffix = -', // v1.0-rc1 comes before v1.0
    '[http]\n\tfollowRedirects = false\n\tlowSpeedLimit = 1000\n\tlowSpeedTime = 60\n\tproxy =',
    ...(protocol === 'ssh' || isIP(bare) !== 0 ? [] : [`\tcurloptResolve = "${pinned}"`]),
    ...(token === null ? [] : [`\textraHeader = "Authorization: Basic ${basicOf(source, token)}"`]),
    '',
  ].join('\n');
}

/** Hosts take a token as the password of any user; some want a certain one, which the URL then names. */
function basicOf({ url }: DueSource, token: string): string {
  return Buffer.from(`${addressOf(url).user || 'x-access-token'}:${token}`).toString('base64');
}

/** For the shell that git starts ssh with. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** Returns the commit of an annotated tag; undefined for another ref. */
function peeled(text: string, ref: string): string | undefined {
  const line = text.split('\n').find((one) => one.endsWith(`\t${ref}^{}`));
  return line?.split('\t')[0];
}

/** Checks a listing before anything of it is written. Returns the paths of submodules. */
function checkTree(listing: Buffer): string[] {
  const refuse = (text: string) => new Failure('unprocessable', `The folder cannot be built: ${text}.`);
  if (!isUtf8(listing)) throw refuse('a name in it is not UTF-8');
  const entries = listing.toString().split('\0').slice(0, -1);
  if (entries.length > MAX_FOLDER_ENTRIES)
    throw refuse(`it has ${entries.length} files, and may have ${MAX_FOLDER_ENTRIES}`);
  let bytes = 0;
  const submodules: string[] = [];
  for (const entry of entries) {
    const tab = entry.indexOf('\t');
    const size = Number(entry.slice(0, tab).split(/ +/)[3]) || 0;
    if (size > MAX_FILE_BYTES) throw refuse(`'${shown(entry.slice(tab + 1))}' has more than 512 MiB`);
    bytes += size;
    if (entry.startsWith('160000 ')) submodules.push(entry.slice(tab + 1));
  }
  if (bytes > MAX_FOLDER_BYTES) throw refuse('it has more than 2 GiB');
  return submodules;
}

/** Shortened, and without control sequences of terminals. */
function shown(text: string): string {
  return text.replaceAll(/\p{Cc}/gu, '�').slice(0, MAX_TEXT);
}
