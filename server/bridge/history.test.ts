/** A session opened again is told as it was told live, on the real Pi. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { createAgent } from './agent.ts';
import type { AgentEvent, AgentOptions } from './agent.ts';
import { call, error, inTurn, realPi } from './real-pi.ts';
import type { RealPi } from './real-pi.ts';

/**
 * What a session file keeps, put so that live events and history can be compared: texts in one
 * piece, ids by the order in which they appear.
 */
function kept(events: AgentEvent[]): object[] {
	const ids = new Map<string, string>();
	const short = (id: string | undefined) => {
		if (id === undefined) return undefined;
		if (!ids.has(id)) ids.set(id, `#${ids.size + 1}`);
		return ids.get(id);
	};

	const told: Record<string, unknown>[] = [];
	for (const event of events) {
		switch (event.type) {
			case 'text':
			case 'thinking': {
				const last = told.at(-1);
				const one = { ...event, messageId: short(event.messageId) };
				if (last?.['type'] === event.type && last['block'] === event.block)
					last['text'] += event.text;
				else told.push(one);
				break;
			}
			case 'user_message':
			case 'message_start':
			case 'message_end':
			case 'attempt_failed':
				told.push({ ...event, messageId: short(event.messageId), retryable: undefined });
				break;
			case 'tool_start':
			case 'tool_end':
				told.push({ ...event, toolCallId: short(event.toolCallId) });
		}
	}
	return told;
}

/** The history that another Pi tells of the same session. */
async function reopened(pi: RealPi, options: AgentOptions = {}): Promise<AgentEvent[]> {
	const { file } = await pi.agent.state();
	await pi.agent.close();
	const before = readFileSync(file!, 'utf8');
	const agent = await createAgent({
		cwd: pi.cwd,
		env: pi.env,
		...options,
		session: { open: file! },
	});
	try {
		return await agent.history();
	} finally {
		await agent.close();
		// To look at a session does not change it.
		expect(readFileSync(file!, 'utf8')).toBe(before);
	}
}

test.concurrent('a session with tools, failures and commands is told as it was live', async () => {
	const bash = (command: string) => call('bash', { command });
	await using pi = await realPi(
		inTurn(
			[{ thinking: 'Let me look.' }, { text: 'First this.' }, ...bash('echo out; exit 3')],
			[{ text: 'A part of' }, { drop: true }],
			[...bash('true'), ...bash('sleep 0.2; echo two')],
			bash('echo begun; sleep 60'),
			[{ text: 'All **done**.' }],
			error(401, 'bad key'),
			[{ text: 'Never' }, { hang: true }],
		),
		{ retry: { baseDelayMs: 40 } },
	);
	const stop = pi
		.until('tool_update', ({ text }) => text.includes('begun'))
		.then(({ toolCallId }) => pi.agent.abortBash(toolCallId));
	await pi.run('Go.\nPlease.');
	await stop;
	await pi.agent.bash('echo mine; exit 1');
	await pi.run('Fail.');
	const hanging = pi.run('Hang.');
	await pi.until('text', ({ text }) => text === 'Never');
	await pi.agent.abort();
	await hanging;

	const history = await reopened(pi);

	expect(kept(history)).toEqual(kept(pi.events));
	// All that was meant to happen did, or the two would be equal for nothing.
	expect(kept(history).map((event) => (event as AgentEvent).type)).toEqual([
		'user_message',
		'message_start',
		'thinking',
		'text',
		'message_end',
		'tool_start',
		'tool_end',
		'message_start',
		'text',
		'attempt_failed',
		'message_start',
		'message_end',
		'tool_start',
		'tool_start',
		'tool_end',
		'tool_end',
		'message_start',
		'message_end',
		'tool_start',
		'tool_end',
		'message_start',
		'text',
		'message_end',
		'tool_start',
		'tool_end',
		'user_message',
		'message_start',
		'attempt_failed',
		'user_message',
		'message_start',
		'text',
		'message_end',
	]);
});

test.concurrent('only the branch that is current is told', async () => {
	const extension = `export default (pi) => pi.registerCommand('back', {
		handler: async (args, ctx) => {
			const first = ctx.sessionManager.getEntries().find((entry) => entry.message?.role === 'assistant');
			await ctx.navigateTree(first.id);
		},
	});`;
	await using pi = await realPi(
		inTurn([{ text: 'one' }], [{ text: 'two' }], [{ text: 'three' }]),
		{},
		{ extension },
	);
	const first = await pi.run('First.');
	await pi.run('Abandoned.');
	await pi.run('/back');
	const third = await pi.run('Instead.');

	expect(kept(await reopened(pi))).toEqual(kept([...first, ...third]));
	expect(pi.provider.requests.at(-1)!.messages.map(({ text }) => text)).toEqual([
		'First.',
		'one',
		'Instead.',
	]);
});

test.concurrent('calls from codemode are told under the call that made them', async () => {
	const options = { flags: ['--tools', '+codemode'] };
	const code = `await tools.bash({ command: 'echo inner' }); return 'outer';`;
	await using pi = await realPi(
		inTurn(call('codemode', { code }), [{ text: 'done' }]),
		{},
		options,
	);
	await pi.run('Go.');

	const history = await reopened(pi, options);

	const live = kept(pi.events).filter((event) => 'toolName' in event);
	const later = kept(history).filter((event) => 'toolName' in event);
	expect(live).toHaveLength(4);
	// Pi keeps the call and how it ended, not what it put out.
	const told = (events: object[]) =>
		events.map((event) => ({ ...event, text: undefined, durationMs: undefined }));
	expect(told(later)).toEqual(told(live));
});

test.concurrent('a tool that was cut off with Pi is not told as running', async () => {
	await using pi = await realPi(() => call('bash', { command: 'exec sleep 2' }));
	const running = pi.run('Go.');
	await pi.until('tool_start');
	const { file } = await pi.agent.state();
	process.kill(pi.agent.pid!, 'SIGKILL');
	await expect(running).rejects.toThrow('SIGKILL');

	const agent = await createAgent({ cwd: pi.cwd, env: pi.env, session: { open: file! } });
	const history = await agent.history();
	await agent.close();

	expect(history.at(-1)).toMatchObject({ type: 'tool_end', isError: true, outcome: 'stopped' });
});

test.concurrent(
	'what failed in another Pi can be tried again, and is told without the asking',
	async () => {
		await using pi = await realPi(inTurn(error(401), [{ text: 'better' }]));
		await pi.run('Go.');
		const { file } = await pi.agent.state();
		await pi.agent.close();

		const agent = await createAgent({ cwd: pi.cwd, env: pi.env, session: { open: file! } });
		const later: AgentEvent[] = [];
		agent.subscribe((event) => later.push(event));
		const events = agent.events();
		await agent.retry();
		for await (const event of events) if (event.type === 'agent_settled') break;
		const history = await agent.history();
		await expect(agent.retry()).rejects.toThrow('nothing to try again');
		await agent.close();

		expect(pi.provider.requests[1]!.messages).toEqual(pi.provider.requests[0]!.messages);
		expect(kept(history)).toEqual(kept([...pi.events, ...later]));
		expect(history.at(-1)).toMatchObject({ type: 'message_end', text: 'better' });
	},
);
