import type { Command } from 'commander';

export const SHELLS = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof SHELLS)[number];

/** Returns a shell script that completes commands and options, without running the program. */
export function completionScript(program: Command, shell: Shell): string {
  const paths = pathsOf(program, '');
  if (shell === 'fish') return fishScript(paths);
  const cases = paths.map(({ path, words }) => `    '${path}') words='${words.join(' ')}' ;;`).join('\n');
  const bash = `_podyard() {
  local words='' path='' word
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$word" in -*) ;; *) path="\${path:+$path }$word" ;; esac
  done
  case "$path" in
${cases}
  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -F _podyard podyard
`;
  return shell === 'bash' ? bash : `autoload -U +X bashcompinit && bashcompinit\n${bash}`;
}

function fishScript(paths: readonly { path: string; words: string[] }[]): string {
  return paths
    .flatMap(({ path, words }) => {
      const condition = path === '' ? '__fish_use_subcommand' : `__fish_seen_subcommand_from ${path.split(' ').at(-1)}`;
      return words.map((word) =>
        word.startsWith('--')
          ? `complete -c podyard -n '${condition}' -l ${word.slice(2)}`
          : `complete -c podyard -f -n '${condition}' -a ${word}`,
      );
    })
    .join('\n')
    .concat('\n');
}

/** Every command's path, with the words that may follow it. */
function pathsOf(command: Command, path: string): { path: string; words: string[] }[] {
  const words = [
    ...command.commands.map((child) => child.name()),
    ...command.options.map((option) => option.long ?? ''),
  ].filter((word) => word !== '');
  const below = command.commands.flatMap((child) =>
    pathsOf(child, path === '' ? child.name() : `${path} ${child.name()}`),
  );
  return [{ path, words }, ...below];
}
