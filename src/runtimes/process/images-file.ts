import { accessSync, constants, readFileSync, statSync } from 'node:fs';
import { delimiter, dirname, isAbsolute, join, resolve } from 'node:path';
import { Failure, messageOf } from '../../core/errors.ts';

/** What stands for a container image where there are no containers: a command, and the folder that its files are in. */
export interface ProcessImage {
  command: readonly string[];
  directory: string;
}

/**
 * Looks an image up in the files, the first that names it wins. They are read anew each time, so that an edit counts at
 * once. Throws `unprocessable` with a sentence that says which names exist and where to add one.
 */
export function findImage(files: readonly string[], image: string): ProcessImage {
  const known: string[] = [];
  for (const file of files) {
    const images = readImages(file);
    if (Object.hasOwn(images, image)) return checked(file, image, images[image]);
    known.push(...Object.keys(images));
  }
  const names = known.length === 0 ? 'none are known yet' : `known are ${known.join(', ')}`;
  throw new Failure(
    'unprocessable',
    `The process runtime knows no image '${image}': ${names}. Add it to ${files.join(' or ')}, or run a container engine.`,
  );
}

/** The path of an executable, looked up as a shell does; undefined when there is none. */
export function findExecutable(command: string, directory: string, path: string): string | undefined {
  const candidates = command.includes('/')
    ? [resolve(directory, command)]
    : path
        .split(delimiter)
        .filter(isAbsolute)
        .map((folder) => join(folder, command));
  return candidates.find(isExecutable);
}

function readImages(file: string): Record<string, unknown> {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {};
    throw error;
  }
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch (error) {
    throw new Failure('unprocessable', `${file} is not valid JSON: ${messageOf(error)}`);
  }
}

function checked(file: string, name: string, value: unknown): ProcessImage {
  const { command, directory } = (value ?? {}) as { command?: unknown; directory?: unknown };
  const isCommand = Array.isArray(command) && command.length > 0 && command.every((word) => typeof word === 'string');
  if (!isCommand || typeof directory !== 'string') {
    throw new Failure(
      'unprocessable',
      `${file}: '${name}' needs "command", an array of strings, and "directory", a folder`,
    );
  }
  return { command, directory: resolve(dirname(file), directory) };
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
