import { ActionIcon, Button, Fieldset, Group, MultiSelect, NumberInput, Select, Stack, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { IconPlus, IconTrash } from '@tabler/icons-react';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { api, type Schemas, unwrap } from '../../../api/client.ts';
import { FormLayout } from '../../../ui/forms/form-layout.tsx';
import { Summary } from '../../../ui/forms/summary.tsx';
import { useSave } from '../../../ui/forms/use-save.ts';
import { Hint } from '../../../ui/hint.tsx';
import { notifySuccess } from '../../../ui/notify.ts';
import { Loaded } from '../../../ui/page.tsx';
import { enumLabel } from '../../../ui/text/labels.ts';
import { DAYS, type Floor, type ScheduleValues, scheduleSummary } from './schedule-values.ts';

type Schedule = Schemas['Schedule'];

const NEW_FLOOR: Floor = { days: DAYS.slice(0, 5), from: '08:00', until: '18:00', workersMin: 1 };

/** Shows and replaces an endpoint's floors of workers by weekday and time of day. */
export function ScheduleForm({ endpointId }: { endpointId: string }) {
  const query = useQuery({
    queryKey: ['schedule', endpointId],
    queryFn: () => unwrap(api.GET('/v2/serverless/{id}/schedule', { params: { path: { id: endpointId } } })),
  });
  return (
    <Loaded query={query}>
      {(schedule) => <Editor key={JSON.stringify(schedule)} endpointId={endpointId} schedule={schedule} />}
    </Loaded>
  );
}

function Editor({ endpointId, schedule }: { endpointId: string; schedule: Schedule }) {
  const queries = useQueryClient();
  const { timeZone, floors } = schedule;
  const form = useForm<ScheduleValues>({
    mode: 'controlled',
    initialValues: { timeZone: floors.length === 0 ? ownTimeZone() : timeZone, floors },
  });
  const { submit, otherErrors, isSaving } = useSave(form, {
    fields: ['timeZone'],
    save: (body) => unwrap(api.PUT('/v2/serverless/{id}/schedule', { params: { path: { id: endpointId } }, body })),
    onSaved: (saved) => {
      queries.setQueryData(['schedule', endpointId], saved);
      notifySuccess('Schedule set.');
    },
  });
  const set = (changed: Floor[]) => form.setFieldValue('floors', changed);
  const rows = form.values.floors;
  return (
    <FormLayout
      onSubmit={submit}
      summary={<Summary label="Summary of the schedule" text={scheduleSummary(form.values, schedule)} />}
      errors={otherErrors}
      actions={
        <Button type="submit" variant="default" loading={isSaving} disabled={!form.isDirty()}>
          Set schedule
        </Button>
      }
    >
      <Fieldset legend="Scheduled floors">
        <Stack>
          <Hint>At least so many workers at these times, up to max workers.</Hint>
          <Select
            label="Time zone"
            data={timeZones(form.values.timeZone)}
            searchable
            allowDeselect={false}
            {...form.getInputProps('timeZone')}
          />
          {rows.map((floor, index) => (
            <FloorRow
              // biome-ignore lint/suspicious/noArrayIndexKey: a row has no other identity
              key={index}
              floor={floor}
              number={index + 1}
              onChange={(changed) => set(rows.with(index, changed))}
              onRemove={() => set(rows.toSpliced(index, 1))}
            />
          ))}
          <Group>
            <Button
              variant="default"
              leftSection={<IconPlus size={14} aria-hidden />}
              onClick={() => set([...rows, NEW_FLOOR])}
            >
              Add floor
            </Button>
          </Group>
        </Stack>
      </Fieldset>
    </FormLayout>
  );
}

function FloorRow(props: { floor: Floor; number: number; onChange: (floor: Floor) => void; onRemove: () => void }) {
  const { floor, number, onChange, onRemove } = props;
  return (
    <Group gap={6} align="end">
      <MultiSelect
        label="Days"
        aria-label={`Days of floor ${number}`}
        data={DAYS.map((day) => ({ value: day, label: enumLabel(day) }))}
        value={floor.days}
        onChange={(days) => onChange({ ...floor, days: DAYS.filter((day) => days.includes(day)) })}
        flex={1}
        miw="min(15rem, 100%)"
      />
      <TextInput
        label="From"
        aria-label={`Start of floor ${number}`}
        placeholder="08:00"
        value={floor.from}
        onChange={(event) => onChange({ ...floor, from: event.currentTarget.value })}
        w={90}
      />
      <TextInput
        label="Until"
        aria-label={`End of floor ${number}`}
        placeholder="18:00"
        value={floor.until}
        onChange={(event) => onChange({ ...floor, until: event.currentTarget.value })}
        w={90}
      />
      <NumberInput
        label="Workers"
        aria-label={`Workers of floor ${number}`}
        min={0}
        allowDecimal={false}
        value={floor.workersMin}
        onChange={(value) => onChange({ ...floor, workersMin: Number(value) })}
        w={90}
      />
      <ActionIcon variant="subtle" color="gray" size="lg" aria-label={`Remove floor ${number}`} onClick={onRemove}>
        <IconTrash size={16} />
      </ActionIcon>
    </Group>
  );
}

function ownTimeZone(): string {
  return new Intl.DateTimeFormat().resolvedOptions().timeZone;
}

/** The zones that the browser knows, and the one that is set. */
function timeZones(current: string): string[] {
  return [...new Set([current, 'UTC', ...Intl.supportedValuesOf('timeZone')])];
}
