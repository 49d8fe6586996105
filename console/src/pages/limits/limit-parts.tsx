import './limits.css';
import { Group, Paper, Progress, SimpleGrid, Text, TextInput } from '@mantine/core';
import { ApiError } from '../../api/api-error.ts';
import { type Schemas, unwrap } from '../../api/client.ts';
import { FormButton } from '../../ui/forms/form-button.tsx';
import { Hint } from '../../ui/hint.tsx';
import {
  LIMIT_NAMES,
  LIMITS,
  type LimitBar,
  limitBars,
  limitChange,
  limitForm,
  limitText,
  type UserLimits,
} from './limit-values.ts';

/** A figure in a list: `7 of 50`, with the limit dimmed. */
export function Use({ text }: { text: string }) {
  const [used, limit] = text.split(' of ');
  return (
    <>
      {used}
      {limit !== undefined && <span className="limit-of"> of {limit}</span>}
    </>
  );
}

/** A user's limits and their use: cards, and on a phone one panel with a line for each. */
export function Bars({ limits }: { limits: UserLimits }) {
  return (
    <SimpleGrid cols={{ base: 1, sm: 2, md: 3, lg: 4 }} spacing={{ base: 0, sm: 'sm' }} className="limits">
      {fullFirst(limitBars(limits)).map((bar) => (
        <Bar key={bar.name} bar={bar} />
      ))}
    </SimpleGrid>
  );
}

function fullFirst(bars: readonly LimitBar[]): LimitBar[] {
  return [...bars.filter(({ isFull }) => isFull), ...bars.filter(({ isFull }) => !isFull)];
}

function Bar({ bar: { name, label, text, percent, isFull } }: { bar: LimitBar }) {
  return (
    <Paper withBorder className="limit">
      <Hint size="xs">{label}</Hint>
      <Group justify="space-between" gap="0 8px" align="baseline">
        <Text fw={600} className="figure">
          {text}
        </Text>
        <Text size="xs" c="dimmed" ff="monospace" visibleFrom="sm">
          {name}
        </Text>
      </Group>
      {percent !== null && (
        <Progress value={percent} mt={6} aria-label={`${label}: ${text}`} color={isFull ? 'orange' : 'blue'} />
      )}
    </Paper>
  );
}

interface EditLimitsProps {
  label?: string;
  /** It is one of a page's buttons, not of a list's. */
  isPlain?: boolean;
  /** The list to read again after a save. */
  queryKey?: string;
  title: string;
  /** Whose; absent: the defaults. */
  userId?: string;
  own: Schemas['OwnLimits'];
  limits: Schemas['Limits'];
  save: (body: Schemas['UpdateLimitsRequest']) => Promise<{ data?: unknown; error?: unknown; response: Response }>;
}

/** A button that opens the form of a user's limits, or of the defaults. */
export function EditLimits(props: EditLimitsProps) {
  const { label = 'Edit', queryKey = 'limits', isPlain = false, title, userId, own, limits, save } = props;
  return (
    <FormButton
      label={label}
      title={title}
      isPlain={isPlain}
      isInRow={!isPlain}
      recordId={userId ?? 'defaults'}
      queryKey={queryKey}
      submitLabel="Save"
      initial={limitForm(own)}
      onSubmit={async (values) => {
        const { body, errors } = limitChange(own, values);
        if (errors.length > 0) throw new ApiError(422, 'Some limits are no numbers.', errors);
        return unwrap(save(body));
      }}
    >
      {(form) => (
        <>
          <Hint>
            A number, or “unlimited”. Leave a limit empty to inherit it. A quota is what the user is sure to get; a
            limit is never exceeded.
          </Hint>
          <SimpleGrid cols={{ base: 1, xs: 2 }} spacing="sm">
            {LIMIT_NAMES.map((name) => (
              <TextInput
                key={name}
                label={LIMITS[name].label}
                placeholder={name in own ? '' : limitText(name, limits[name])}
                autoComplete="off"
                {...form.getInputProps(name)}
              />
            ))}
          </SimpleGrid>
        </>
      )}
    </FormButton>
  );
}
