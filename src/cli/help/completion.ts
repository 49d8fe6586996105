import type { Argument, Command, Option } from 'commander';

export const SHELLS = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof SHELLS)[number];

/** The kinds of values that only the server, or this machine, can list. */
export type Names =
  | ('endpoints' | 'pods' | 'clusters' | 'templates' | 'secrets' | 'volumes' | 'registries')
  | (
      | 'gpus'
      | 'pools'
      | 'cpus'
      | 'datacenters'
      | 'contexts'
      | 'keys'
      | 's3Keys'
      | 'notices'
      | 'users'
      | 'teams'
      | 'models'
    );

/** The candidates for the next word: words, names of these kinds, or files. */
export interface Candidates {
  words: readonly string[];
  names: readonly Names[];
  isFile: boolean;
}

/** A line that `podyard complete` prints where a file belongs. */
export const FILES = ':files';

/** Commands whose argument is of one kind; in other groups it is of the group itself: `pods get <id>`. */
const ARGUMENT_NAMES: Readonly<Record<string, readonly Names[]>> = {
  'contexts use <name>': ['contexts'],
  'contexts remove <name>': ['contexts'],
  'open [id]': ['endpoints', 'pods'],
  'exec [name]': ['pods'],
  'budgets remove <which>': ['endpoints'],
  'keys revoke <id>': ['keys'],
  's3-keys revoke <id>': ['s3Keys'],
  'notices update <which>': ['notices'],
  'notices test <which>': ['notices'],
  'notices deliveries <which>': ['notices'],
  'notices remove <which>': ['notices'],
  'volumes list [place]': ['volumes'],
  'volumes cp <from>': ['volumes'],
  'volumes rm <place>': ['volumes'],
  'models free <model>': ['models'],
  'models pin <model>': ['models'],
  'models unpin <model>': ['models'],
  'keys update <id>': ['keys'],
  'keys rotate <id>': ['keys'],
};
const GROUPS: readonly string[] = ['endpoints', 'pods', 'clusters', 'templates', 'secrets', 'volumes', 'registries'];
const OPTION_NAMES: Readonly<Record<string, readonly Names[]>> = {
  '--context': ['contexts'],
  '--endpoint': ['endpoints'],
  '--template': ['templates'],
  '--registry': ['registries'],
  '--volume': ['volumes'],
  '--network-volume': ['volumes'],
  '--pool': ['pools'],
  '--gpu': ['gpus'],
  '--exclude': ['gpus'],
  '--cpu': ['cpus'],
  '--data-center': ['datacenters'],
  '--user': ['users'],
  '--owner': ['users'],
  '--team': ['teams'],
  '--hand-over-to': ['users'],
};
const NOTHING: Candidates = { words: [], names: [], isFile: false };

/** Returns what may stand where the last of `words`, which may be empty or unfinished, stands. */
export function findCandidates(program: Command, words: readonly string[]): Candidates {
  let command = program;
  let option: Option | undefined;
  let operands = 0;
  for (const word of words.slice(0, -1)) {
    if (word === '--') return NOTHING; // what follows is another program's
    const child =
      operands === 0 ? command.commands.find((one) => one.name() === word || one.aliases().includes(word)) : undefined;
    if (word.startsWith('-')) option = optionWithValue(command, word);
    else if (option !== undefined) option = option.variadic ? option : undefined;
    else if (child !== undefined) command = child;
    else operands++;
  }
  const typed = words.at(-1) ?? '';
  if (typed.startsWith('-')) return { ...NOTHING, words: command.options.flatMap(({ long }) => long ?? []) };
  if (option !== undefined) return valuesOf(option);
  if (operands === 0 && command.commands.length > 0)
    return { ...NOTHING, words: visible(command).map((one) => one.name()) };
  const argument = command.registeredArguments[operands];
  return argument === undefined ? NOTHING : argumentsOf(command, argument);
}

function visible(command: Command): Command[] {
  return command.createHelp().visibleCommands(command);
}

function optionWithValue(command: Command, word: string): Option | undefined {
  const found = command.options.find(({ long, short }) => word === long || word === short);
  return found && (found.required || found.optional) ? found : undefined;
}

function valuesOf({ long, argChoices, flags }: Option): Candidates {
  if (argChoices) return { ...NOTHING, words: argChoices };
  return { words: [], names: OPTION_NAMES[long ?? ''] ?? [], isFile: /<(file|path)>/.test(flags) };
}

function argumentsOf(command: Command, argument: Argument): Candidates {
  if (argument.argChoices) return { ...NOTHING, words: argument.argChoices };
  const name = argument.name();
  return { words: [], names: namesOf(command, argument), isFile: ['file', 'from', 'to'].includes(name) };
}

/** Returns what an argument names. */
export function namesOf(command: Command, argument: Argument): readonly Names[] {
  const name = argument.name();
  const group = command.parent?.name() ?? '';
  const path = command.parent?.parent ? `${group} ${command.name()}` : command.name();
  const shown = argument.required ? `<${name}>` : `[${name}]`;
  if (name === 'endpoint') return ['endpoints'];
  if (name === 'team') return ['teams'];
  if (name === 'user') return ['users'];
  if (name === 'name' && group === 'users' && command.name() !== 'create') return ['users'];
  if (name === 'id' && GROUPS.includes(group)) return [group as Names];
  return ARGUMENT_NAMES[`${path} ${shown}`] ?? [];
}

/**
 * Returns a shell script that asks `podyard complete` for what may come next. Names are quoted by the shell, so that none of
 * them is run; errors are not shown.
 */
export function completionScript(shell: Shell): string {
  return { bash: BASH, zsh: ZSH, fish: FISH }[shell];
}

const BASH = `_podyard() {
  local typed="\${COMP_WORDS[COMP_CWORD]}" line
  COMPREPLY=()
  while IFS= read -r line; do
    if [[ $line == ${FILES} ]]; then
      compopt -o default 2>/dev/null
    elif [[ $typed == [\\'\\"]* ]]; then
      COMPREPLY+=("$line")
    else
      COMPREPLY+=("$(printf '%q' "$line")")
    fi
  done < <(podyard complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -F _podyard podyard
`;

const ZSH = `_podyard() {
  local -a found
  found=("\${(@f)$(podyard complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ $found[1] == ${FILES} ]]; then
    _files
  else
    compadd -- "\${(@)found:#}"
  fi
}
(( $+functions[compdef] )) || { autoload -Uz compinit && compinit }
compdef _podyard podyard
`;

const FISH = `function __podyard_complete
  set -l words (commandline -opc)
  set -l typed (commandline -ct)
  set -l found (podyard complete -- $words[2..] "$typed" 2>/dev/null)
  if test "$found[1]" = ${FILES}
    __fish_complete_path "$typed"
  else if test (count $found) -gt 0
    printf '%s\\n' $found
  end
end
complete -c podyard -f -a '(__podyard_complete)'
`;
