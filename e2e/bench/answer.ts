/** Answers of a given size, and when each piece of them left the provider. */
import type { ModelRequest, Reply, Step } from '../../server/demo/provider.ts';

export const KB = 1_000;
const DELTA_BYTES = 50;

export const END = 'These are the very last words.';

/** Markdown as models write it: prose, lists, tables, code. Plain ASCII, so that a character is a byte. */
export function markdown(bytes: number): string {
	let text = '';
	for (let part = 1; text.length < bytes; part++) text += section(part);
	return `${text.slice(0, bytes - END.length - 2)}\n\n${END}`;
}

const section = (n: number) => `## Part ${n}: what was found

The function \`parse${n}\` reads **one record** at a time and keeps the rest, so that a record that is cut in two is put together again. It costs *nothing* while there is nothing to read, and its worst case is a record of ${n * 13} pieces.

- The first thing to change is \`server/part-${n}.ts\`, which holds the state twice.
- The second is its test: it waits for ${n} ms and should wait for the event.
  1. Remove the wait.
  2. Ask for the event, and see [the notes](https://example.org/notes/${n}).

| case | before | after |
| --- | ---: | ---: |
| small | ${n} ms | ${n / 2} ms |
| large | ${n * 40} ms | ${n * 3} ms |

\`\`\`ts
export function parse${n}(input: string, from = 0): Result {
	const end = input.indexOf('\\n', from);
	if (end < 0) return { kind: 'partial', rest: input.slice(from) };
	return { kind: 'record', value: JSON.parse(input.slice(from, end)), next: end + 1 };
}
\`\`\`

> A note for later: the limit of ${n} holds for both sides, and nothing depends on it.

`;

/** A text in deltas of 50 bytes. */
export const deltasOf = (text: string) =>
	Array.from({ length: Math.ceil(text.length / DELTA_BYTES) }, (_, index) =>
		text.slice(index * DELTA_BYTES, (index + 1) * DELTA_BYTES),
	);

/**
 * An answer in exactly these deltas, each a write of its own, `pace` ms apart (0: all at once).
 * `onwrite` is told when each is written: the provider reads a step when it comes to it.
 */
export const inDeltas = (
	deltas: string[],
	pace: number,
	onwrite: (at: number) => void = () => {},
): Step[] =>
	deltas.flatMap((content): Step[] => {
		const chunk = { id: 'demo', object: 'chat.completion.chunk', created: 0, model: 'demo' };
		const event = `data: ${JSON.stringify({ ...chunk, choices: [{ index: 0, delta: { content } }] })}\n\n`;
		const write: Step = {
			get garbage() {
				onwrite(performance.timeOrigin + performance.now());
				return event;
			},
		};
		return pace > 0 ? [write, { wait: pace }] : [write];
	});

/** A model that answers "200 KB, 2 ms apart" with that. */
export function asAsked({ messages }: ModelRequest): Reply {
	const [, size, pace] = /(\d+) KB, (\d+) ms apart/.exec(messages.at(-1)!.text) ?? [];
	if (size === undefined) return [{ text: 'Done.', pace: 0 }];
	return inDeltas(deltasOf(markdown(Number(size) * KB)), Number(pace));
}
