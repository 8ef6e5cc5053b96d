/**
 * What the bridge relies on of the real Pi, without the bridge: an upgrade of Pi that changes one of
 * these fails here. Numbers are those of PI-FACTS.md, "Where the contract needs the bridge's help".
 * What it relies on of retries and queues is in pi-facts-retry.test.ts.
 */
import { expect, test } from 'vitest';
import { GATE, inTurn } from './real-pi.ts';
import { bash, prompt, rawPi } from './raw-pi.ts';

const ANSWER = [{ text: 'the answer' }];

test.concurrent(
	"1: abort_bash answers success and does not stop the agent's bash tool",
	async () => {
		await using raw = await rawPi(
			inTurn(bash('echo begun; until [ -e open ]; do sleep 0.02; done; echo ended'), ANSWER),
		);
		await raw.pi.ask(prompt('Go.'));
		await raw.until(
			'tool_execution_update',
			(one) => one['partialResult'].content[0]?.text === 'begun\n',
		);

		await raw.pi.ask({ type: 'abort_bash' });
		raw.open();

		const end = await raw.until('tool_execution_end');
		expect(end).toMatchObject({ isError: false, toolName: 'bash' });
		expect(end['result'].content[0].text).toBe('begun\nended\n');
	},
);

test.concurrent(
	'1: a slash command runs at once in mid-run and leaves nothing in the conversation',
	async () => {
		await using raw = await rawPi(
			inTurn(GATE, ANSWER),
			{},
			{
				extension: `export default (pi) => pi.registerCommand('now', {
			handler: async (args, ctx) => ctx.ui.setStatus('now', args),
		});`,
			},
		);
		await raw.pi.ask(prompt('Go.'));
		await raw.until('tool_execution_start');

		expect(await raw.pi.ask(prompt('/now words of ours'))).toEqual({ disposition: 'handled' });

		expect(raw.of('extension_ui_request').at(-1)).toMatchObject({
			method: 'setStatus',
			statusKey: 'now',
			statusText: 'words of ours',
		});
		expect(raw.of('message_end').map(({ message }) => message.role)).toEqual([
			'system',
			'user',
			'assistant',
		]);
		raw.open();
		await raw.settled(1);
		const { entries } = await raw.pi.ask({ type: 'get_entries' });
		expect(JSON.stringify(entries)).not.toContain('words of ours');
	},
);

test.concurrent(
	"output of the agent's bash is repeated whole, with a closing line on its outcome",
	async () => {
		await using raw = await rawPi(
			inTurn(
				bash('echo one; sleep 0.3; echo two; exit 3'),
				bash('true'),
				bash('sleep 5', { timeout: 0.2 }),
				ANSWER,
			),
		);
		await raw.pi.ask(prompt('Go.'));
		await raw.settled(1);

		const updates = raw
			.of('tool_execution_update')
			.map((one) => one['partialResult'].content[0]?.text);
		expect(updates).toContain('one\n');
		expect(updates).toContain('one\ntwo\n');
		const ends = raw.of('tool_execution_end');
		expect(ends.map(({ isError }) => isError)).toEqual([true, false, true]);
		expect(ends.map(({ result }) => result.content[0].text)).toEqual([
			'one\ntwo\n\n\nCommand exited with code 3',
			'(no output)',
			'Command timed out after 0.2 seconds',
		]);
		expect(ends.every(({ durationMs }) => typeof durationMs === 'number')).toBe(true);

		// A person's command is told in pieces, under the id of its request.
		const ours = raw.pi.ask({ type: 'bash', command: 'echo one; sleep 0.2; echo two' }, 'c1');
		expect(await ours).toMatchObject({ output: 'one\ntwo\n', exitCode: 0, cancelled: false });
		expect(raw.of('bash_execution_update')).toEqual([
			{ type: 'bash_execution_update', id: 'c1', delta: 'one\n' },
			{ type: 'bash_execution_update', id: 'c1', delta: 'two\n' },
		]);
	},
);

test.concurrent(
	'texts come in pieces, then whole; line separators of Unicode do not cut a record',
	async () => {
		const text = 'one\u2028 two\u2029 three';
		await using raw = await rawPi(inTurn([{ text }]));

		await raw.pi.ask(prompt(text));
		await raw.settled(1);

		const deltas = raw
			.of('message_update')
			.map((one) => one['assistantMessageEvent'])
			.filter(({ type }) => type === 'text_delta');
		expect(deltas.length).toBeGreaterThan(1);
		expect(deltas.map(({ delta }) => delta).join('')).toBe(text);
		const ended = raw.of('message_end').map((one) => one['message']);
		expect(ended.map(({ role }) => role)).toEqual(['system', 'user', 'assistant']);
		expect(ended.slice(1).map(({ content }) => content[0].text)).toEqual([text, text]);
	},
);

test.concurrent(
	'a dialog blocks a run and its abort until it is answered; its time-out says nothing',
	async () => {
		await using raw = await rawPi(
			inTurn(bash('true'), bash('true'), ANSWER),
			{},
			{
				extension: `let timeout = 200;
			export default (pi) => pi.on('tool_call', async (event, ctx) => {
				const leave = await ctx.ui.confirm('Run it?', '', timeout ? { timeout } : undefined);
				timeout = undefined;
				if (!leave) return { block: true, reason: 'No.' };
			});`,
			},
		);
		await raw.pi.ask(prompt('Go.'));
		await raw.until('tool_execution_end');
		const dialog = await raw.until(
			'extension_ui_request',
			({ method, timeout }) => method === 'confirm' && !timeout,
		);
		const dialogs = raw.of('extension_ui_request').filter(({ method }) => method === 'confirm');
		expect(dialogs).toHaveLength(2);

		let aborted = false;
		const aborting = raw.pi.ask({ type: 'abort' }).then(() => (aborted = true));
		await raw.pi.ask({ type: 'get_state' });
		await raw.pi.ask({ type: 'bash', command: 'sleep 0.3' });
		expect(aborted).toBe(false);
		raw.pi.reply({ type: 'extension_ui_response', id: dialog['id'], cancelled: true });
		await aborting;
		expect(await raw.settled(1)).toEqual({ type: 'agent_settled', aborted: true });
	},
);

test.concurrent(
	'of two tools of one name the first loaded wins; resources_discover is after all session_start',
	async () => {
		const starting = (said: string) => `pi.on('session_start', (_event, ctx) => {
		ctx.ui.notify('start of ${said}');
		pi.registerTool({
			name: 'bash', label: 'bash', description: 'x', parameters: { type: 'object', properties: {} },
			execute: async () => ({ content: [{ type: 'text', text: '${said}' }], details: {} }),
		});
	});`;
		const discovering = `pi.on('resources_discover', (_event, ctx) => ctx.ui.notify('discover'));`;
		await using raw = await rawPi(
			inTurn(bash('true'), ANSWER),
			{},
			{
				extension: `export default (pi) => { ${discovering} ${starting('first')} };`,
				files: { 'second.ts': `export default (pi) => { ${starting('second')} };` },
				flags: ['-e', 'second.ts'],
			},
		);

		await raw.pi.ask(prompt('Go.'));
		await raw.settled(1);

		const said = raw.of('extension_ui_request').flatMap(({ message }) => message ?? []);
		expect(said).toEqual(['start of first', 'start of second', 'discover']);
		expect(raw.of('tool_execution_end')[0]!['result'].content[0].text).toBe('first');
	},
);
