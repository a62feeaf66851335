import { dropMissing } from '../../lib/collections.ts';
import { summarizePosture } from '../../names/posture.ts';
import type { ActionCall, CommandCall, Feature, Interaction } from '../feature.ts';
import type { Message } from '../kit/blocks.ts';
import { type PageRequest, pageActions, slicePage } from '../kit/pages.ts';
import { parseQuery } from './names.ts';
import { NAMES_PER_PAGE, postureMessage } from './posture.view.ts';

/* Names with findings, worst first. */

const ALL = 'all';

/** @param `of` is the text of the command: optionally `all`, then the filter */
async function buildPosturePage(call: Interaction, { of, offset }: PageRequest): Promise<Message> {
  const [first, ...rest] = of.split(' ');
  const withNotes = first === ALL;
  const filter = (withNotes ? rest : dropMissing([first, ...rest])).join(' ').trim();
  const found = await parseQuery(call, filter);
  if ('problem' in found) return found.problem;
  const { names: judged, counts } = summarizePosture(await found.judged(), call.context.now());
  const listed = judged.filter(({ status, findings }) =>
    status === 'fine' ? withNotes && findings.length > 0 : true,
  );
  return postureMessage({ filter, withNotes, counts, page: slicePage(listed, offset, NAMES_PER_PAGE) });
}

export const posture = {
  commands: [
    {
      usage: 'posture [all] [FILTER…]',
      summary: 'List problems with names, worst first; `all` adds notes',
      example: '/domain posture tag:brand',
      run: async (call: CommandCall) =>
        call.respond(await buildPosturePage(call, { of: call.words.join(' '), offset: 0 })),
    },
  ],
  actions: pageActions('posture', async (call: ActionCall, request) =>
    call.respond(await buildPosturePage(call, request), { replace: true }),
  ),
} as const satisfies Feature;
