import { Group, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { visibleText } from '../ui/text/visible-text.ts';

/** A banner above every page. */
export function Notice(props: {
  color: string;
  icon: ReactNode;
  title: string;
  action: ReactNode;
  children: ReactNode;
}) {
  return (
    <Group className="notice" data-color={props.color} gap="sm" justify="space-between">
      <Group gap="sm" wrap="nowrap" flex={1} miw={240}>
        {props.icon}
        <Text size="sm" className="anywhere">
          <b>{visibleText(props.title)}</b> {props.children}
        </Text>
      </Group>
      <Group gap="xs">{props.action}</Group>
    </Group>
  );
}
