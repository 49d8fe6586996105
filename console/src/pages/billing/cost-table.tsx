import { Anchor, Badge, Group, Paper, Progress, Table, Text } from '@mantine/core';
import { Link } from 'react-router';
import { formatCount, formatUsd } from '../../ui/text/format.ts';
import { Name } from '../../ui/text/record-name.tsx';
import { visibleText } from '../../ui/text/visible-text.ts';
import { type CostGroup, type Costs, cents, groupLink, groupName, shareOf } from './cost-rows.ts';

/** What each group cost, the largest first, with its share. Narrow screens have no room for the parts. */
export function CostTable({ costs, isAll, ownId }: { costs: Costs; isAll: boolean; ownId: string | undefined }) {
  const { by, groups, total, otherCount, otherAmount } = costs;
  const hasOwner = isAll && by !== 'user' && by !== 'product';
  return (
    <Paper withBorder>
      <Table aria-label="Cost by group" verticalSpacing="xs" className="figure">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Name</Table.Th>
            {hasOwner && <Table.Th>User</Table.Th>}
            {PARTS.map(({ title }) => (
              <Table.Th key={title} visibleFrom="sm">
                {title}
              </Table.Th>
            ))}
            <Table.Th>Cost</Table.Th>
            <Table.Th>Share</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {groups.map((group) => (
            <Table.Tr key={group.id}>
              <Table.Td className="cost-name">
                <GroupName group={group} link={groupLink(by, group, ownId)} />
              </Table.Td>
              {hasOwner && (
                <Table.Td className="cost-name">
                  <Name>{group.userName ?? group.userId ?? ''}</Name>
                </Table.Td>
              )}
              {PARTS.map(({ title, amountOf }) => (
                <Table.Td key={title} visibleFrom="sm">
                  {formatUsd(Number(amountOf(group)))}
                </Table.Td>
              ))}
              <Table.Td fw={600}>{formatUsd(Number(group.amount))}</Table.Td>
              <Table.Td>
                <Share percent={shareOf(group.amount, total)} name={groupName(group)} />
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
      {otherCount > 0 && (
        <Text size="sm" c="dimmed" p="sm">
          {formatCount(otherCount, 'other')} cost {formatUsd(cents(otherAmount))}. The export has them all.
        </Text>
      )}
    </Paper>
  );
}

const PARTS: readonly { title: string; amountOf: (group: CostGroup) => string }[] = [
  { title: 'GPU', amountOf: ({ gpuAmount }) => gpuAmount },
  { title: 'CPU', amountOf: ({ cpuAmount }) => cpuAmount },
  { title: 'Storage', amountOf: ({ storageAmount }) => storageAmount },
];

function GroupName({ group, link }: { group: CostGroup; link: string | undefined }) {
  if (link !== undefined) {
    return (
      <Anchor component={Link} to={link} size="sm">
        <Name>{groupName(group)}</Name>
      </Anchor>
    );
  }
  return (
    <Group gap="xs">
      <Text size="sm">
        <Name>{groupName(group)}</Name>
      </Text>
      {group.isDeleted && (
        <Badge size="xs" variant="default" tt="none">
          deleted
        </Badge>
      )}
    </Group>
  );
}

function Share({ percent, name }: { percent: number; name: string }) {
  const text = `${percent.toFixed(1)} %`;
  return (
    <Group gap="xs" wrap="nowrap">
      <Progress value={percent} w={70} visibleFrom="xs" size="sm" aria-label={visibleText(`${name}: ${text}`)} />
      <Text size="xs">{text}</Text>
    </Group>
  );
}
