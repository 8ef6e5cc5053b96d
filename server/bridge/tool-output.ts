import type { Image, ToolEnd } from './events.ts';

/** What a tool's result looks like on Pi's stdout; every part may be missing. */
export interface ToolResult {
	content?: { type: string; text?: string; data?: string; mimeType?: string }[];
	details?: { patch?: string };
	structuredContent?: { exit_code?: number };
}

const OVERLAP = 400;

/**
 * How to get from one full output to the next. Pi repeats a command's whole output, at most its
 * last 50 KB, at each update; what is new at its end is usually all there is to say.
 */
export function outputUpdate(
	before: string,
	after: string,
): { mode: 'append' | 'replace'; text: string } | undefined {
	if (after === before) return undefined;
	if (after.startsWith(before)) return { mode: 'append', text: after.slice(before.length) };

	// The window has moved on: find where the end of the earlier output lies in the new one.
	const end = before.slice(-OVERLAP);
	const at = end.length === OVERLAP ? after.lastIndexOf(end) : -1;
	if (at < 0) return { mode: 'replace', text: after };
	return { mode: 'append', text: after.slice(at + OVERLAP) };
}

export const resultText = (result: ToolResult) =>
	(result.content ?? []).flatMap(({ text }) => (text === undefined ? [] : [text])).join('\n');

export const resultImages = (result: ToolResult): Image[] =>
	(result.content ?? []).flatMap(({ type, data, mimeType }) =>
		type === 'image' && data && mimeType ? [{ data, mimeType }] : [],
	);

/**
 * Takes Pi's closing line about the outcome off the output of a shell command: the page shows the
 * outcome in its own way.
 */
export function shellOutcome(
	text: string,
	isError: boolean,
): Pick<ToolEnd, 'text' | 'outcome' | 'exitCode'> {
	if (!isError) return { text: text === '(no output)' ? '' : text, outcome: 'done', exitCode: 0 };

	const closing =
		/(?:^|\n\n)(?:Command (aborted)|Command (timed out) after [^\n]*|Command exited with code (\d+))$/.exec(
			text,
		);
	if (!closing) return { text, outcome: 'failed' };

	const output = text.slice(0, closing.index);
	const [, aborted, timedOut, code] = closing;
	return {
		text: output === '(no output)' ? '' : output,
		outcome: aborted ? 'stopped' : timedOut ? 'timed_out' : 'failed',
		...(code === undefined ? {} : { exitCode: Number(code) }),
	};
}
