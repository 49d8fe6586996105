/**
 * Gives up root before anything else runs, in a container that is started as root because only root can find out what it may
 * do without: compose.yaml knows neither whose the data directory is nor which group opens the engine's socket.
 *
 * The process needs the capabilities CHOWN, SETGID and SETUID until then, and has none afterwards.
 */
import { chmodSync, chownSync, readdirSync, statSync } from 'node:fs';
import { readSettings } from '../../config/setting.ts';
import { SETTINGS } from '../../config/settings.ts';
import type { UserIds } from '../../config/user-setting.ts';
import { messageOf } from '../../core/errors.ts';

const SOCKET = '/var/run/docker.sock';

/**
 * Starts this program again as the user that PODYARD_USER names, or the owner of the data directory, with the group of the
 * engine's socket. Returns if it is to stay root. A new data directory, which is empty and root's, becomes that user's.
 * Throws a sentence with the command to run if the directory is neither.
 */
export function becomeUser(env: NodeJS.ProcessEnv): void {
  const { user, dataDir } = readSettings({ user: SETTINGS.user, dataDir: SETTINGS.dataDir }, {}, env);
  if (user === null || user.uid === 0) return;
  const { uid, gid } = ownerOf(dataDir, user);
  process.setgroups!(groupsOf(env.DOCKER_HOST));
  process.setgid!(gid);
  process.setuid!(uid);
  // A new program, because the kernel gives the files of this one in /proc to root for the rest of its life.
  const words = [process.execPath, ...process.execArgv, ...process.argv.slice(1)];
  process.execve!(process.execPath, words, { ...env, HOME: '/' } as Record<string, string>);
}

function ownerOf(dataDir: string, user: UserIds): UserIds {
  const stats = statSync(dataDir, { throwIfNoEntry: false });
  if (stats === undefined) return user; // the user creates it, or gets the error
  if (stats.uid !== 0) return { uid: stats.uid, gid: stats.gid };
  const give = `chown -R ${user.uid}:${user.gid} ${dataDir}`;
  if (readdirSync(dataDir).length > 0) {
    throw new Error(
      `the data directory ${dataDir} belongs to root and is not empty. If it is Podyard's, run: sudo ${give}. If not, name another one: PODYARD_DATA_DIR`,
    );
  }
  try {
    chmodSync(dataDir, 0o700);
    chownSync(dataDir, user.uid, user.gid);
  } catch (error) {
    throw new Error(
      `the data directory cannot be given to the user ${user.uid} (${messageOf(error)}). Run: sudo ${give}`,
    );
  }
  return user;
}

/** The group that may open the engine's socket. */
function groupsOf(dockerHost = `unix://${SOCKET}`): number[] {
  const path = /^unix:\/\/(\/.*)/.exec(dockerHost || `unix://${SOCKET}`)?.[1];
  const stats = path === undefined ? undefined : statSync(path, { throwIfNoEntry: false });
  return stats === undefined ? [] : [stats.gid];
}
