import type { Button } from '@slack/types';
import { MAX_TAGS, type NameDetails, type TagIssue } from '../../names/portfolio.ts';
import { displayName } from '../../zones/names.ts';
import { button, code, count, escapeText, mention, quote } from './blocks.ts';

/*
 * The portfolio as people see it: whose a name is, its tags, where it is told of, and what somebody noted.
 */

/** A channel as messages name it. */
export function channelMention(channelId: string): string {
  return `<#${channelId}>`;
}

/** What is set for a name, as facts of its screen. */
export function detailPairs(
  details: NameDetails | undefined,
): readonly (readonly [label: string, value: string])[] {
  if (details === undefined) return [];
  const { owner, tags, channel, note } = details;
  return [
    ...(owner === undefined ? [] : [['Owner', mention(owner)] as const]),
    ...(tags.length === 0 ? [] : [['Tags', tags.map(code).join(' ')] as const]),
    ...(channel === undefined ? [] : [['Told in', channelMention(channel)] as const]),
    ...(note === undefined ? [] : [['Note', quote(note)] as const]),
  ];
}

/** Opens the form of what is set for a name. */
export function editButton(name: string): Button {
  return button({
    actionId: 'name_edit',
    text: 'Owner, tags…',
    value: name,
    label: `Owner, tags, channel and note of ${displayName(name)}`,
  });
}

/** What is wrong with tags; plain text, for the field of a form. */
export function tagIssueText(issue: TagIssue): string {
  switch (issue.code) {
    case 'not_a_tag':
      return `“${issue.tag}” is not a tag. Use letters, digits, hyphens and dots, such as client-acme.`;
    case 'long_tag':
      return `“${issue.tag}” is too long. Use at most 40 characters.`;
    case 'reserved_tag':
      return `“${issue.tag}” finds names without tags. Choose another word.`;
    case 'too_many_tags':
      return `Give at most ${MAX_TAGS} tags.`;
  }
}

/** What was saved. @param names in ASCII */
export function savedText(names: readonly string[], asked: number): string {
  const [only] = names;
  if (only === undefined) return 'Nothing was changed: everything stood there as you gave it.';
  const what =
    names.length === 1 && asked === 1 ? escapeText(displayName(only)) : count(names.length, 'name');
  return `Saved for ${what}.`;
}

/** Said where a tag that decides about orders would be changed by somebody who does not decide; plain text. */
export function decidingTagsText(name: string, tags: readonly string[]): string {
  const which = tags.map((tag) => `“${tag}”`).join(', ');
  return `The tag ${which} of ${displayName(name)} decides what orders need. Ask an approver or an admin to change it.`;
}
