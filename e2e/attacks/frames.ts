import { isDeepStrictEqual } from 'node:util';
import { until } from '../faults/bench.ts';
import { pisOf } from '../faults/processes.ts';
import { Tab } from '../faults/tab.ts';
import { login, type Credentials } from '../login.ts';
import { BINARY, frame, GOES_ON, PING, RawSocket, TEXT } from './raw-socket.ts';
import type { Report } from './report.ts';
import { openPage, type Stage } from './stage.ts';

const MOST = 16 * 1024 * 1024;
const FLOOD = 10_000;
const FRAGMENTS = 200_000;
const CLOCK = frame(TEXT, JSON.stringify({ type: 'clock' }));

/** From one who has logged in: a page that is not ours in its ways, or one that has gone mad. */
export async function frames(report: Report, stage: Stage) {
	const { target } = stage;
	const { context, page, ui } = await openPage(stage);
	const credentials = await login(target.holdfast.address());
	try {
		await ui.send('Hello.');
		await ui.rested();
		await page.waitForURL(/session=/);
		const session = new URL(page.url()).searchParams.get('session')!;
		const before = pisOf(target.holdfast.proxy.pid!, target.mark).map(({ pid }) => pid);

		// Another tab, to which an answer comes for as long as this takes.
		let going = true;
		const words = Array.from({ length: 40 }, (_, index) => `word ${index}`).join(' ');
		target.play = () => [
			{ text: words, pace: 10 },
			...(going ? [{ toolCall: { name: 'bash', arguments: { command: 'echo on' } } }] : []),
		];
		const tab = new Tab(credentials, session, true);
		await tab.open();
		await until('its snapshot', () => tab.conversation !== undefined);
		tab.prompt('Go on and on.');
		await until('the first words', () => tab.frames.length > 2);

		await broken(report, target.port, credentials);
		await misunderstood(report, target.port, credentials, session);
		await floods(report, target.port, credentials);

		going = false;
		const during = tab.frames.length;
		await until('the end of the answer', () => tab.conversation!.activity.kind === 'idle', 60_000);
		const fresh = new Tab(credentials, session, true);
		await fresh.open();
		await until('its snapshot', () => fresh.conversation !== undefined);
		report.begin('after all these frames');
		const whole = isDeepStrictEqual(said(tab), said(fresh));
		report.line(
			'what another tab was told meanwhile',
			'all of it, in order',
			tab.closed || tab.gaps > 0 || !whole || during < 10
				? `${during} frames, ${tab.gaps} gaps, ${whole ? 'the same' : 'another'} text`
				: 'all of it, in order',
		);
		const after = pisOf(target.holdfast.proxy.pid!, target.mark).map(({ pid }) => pid);
		report.line(
			'the processes of Pi',
			`the same ${before.length}`,
			before.every((pid) => after.includes(pid))
				? `the same ${before.length}`
				: `${before.join()} and then ${after.join()}`,
		);
		for (const one of [tab, fresh]) one.close();
	} finally {
		target.play = () => [{ text: 'Yes.', pace: 0 }];
		await context.close();
	}
}

/** The texts of the tail that both of them have. */
const said = ({ conversation }: Tab): unknown =>
	JSON.parse(
		JSON.stringify(
			conversation!.messages.slice(-8).map((one) => ('blocks' in one ? one.blocks : one.id)),
		),
	);

/** What is not WebSocket: closed, with the code for it. */
async function broken(report: Report, port: number, credentials: Credentials) {
	report.begin('frames that break the rules');
	const half = Buffer.alloc(1024 * 1024, 'x');
	const cases: [string, number, Buffer[]][] = [
		['one of 16 MiB and a byte', 1009, [frame(TEXT, 'x', { length: MOST + 1 })]],
		['one that says it has 2^53 bytes', 1009, [frame(TEXT, 'x', { length: 2 ** 53 })]],
		[
			'17 MiB in pieces',
			1009,
			[
				frame(TEXT, half, { last: false }),
				...Array.from({ length: 16 }, () => frame(GOES_ON, half, { last: false })),
			],
		],
		['one without a mask', 1002, [frame(TEXT, '{"type":"clock"}', { masked: false })]],
		['bad UTF-8', 1007, [frame(TEXT, Buffer.from([0x22, 0xc3, 0x28, 0x22]))]],
		['bad UTF-8, half a character at its end', 1007, [frame(TEXT, Buffer.from([0xe2, 0x82]))]],
		['reserved bits', 1002, [frame(TEXT, 'x', { reserved: 4 })]],
		['an unknown kind', 1002, [frame(0x3, 'x')]],
		['a piece of nothing', 1002, [frame(GOES_ON, 'x')]],
		['a new message within another', 1002, [frame(TEXT, 'x', { last: false }), CLOCK]],
		['a ping of 126 bytes', 1002, [frame(PING, Buffer.alloc(126))]],
		['a ping in pieces', 1002, [frame(PING, 'x', { last: false })]],
		[
			`${FRAGMENTS} pieces of one message`,
			1008,
			[
				frame(TEXT, '"', { last: false }),
				Buffer.concat(
					Array.from({ length: FRAGMENTS }, () => frame(GOES_ON, 'x', { last: false })),
				),
			],
		],
	];
	for (const [request, code, wrong] of cases) {
		const socket = await works(port, credentials);
		socket.send(...wrong);
		await socket.answered((answers) => answers.some((one) => one.startsWith('close')));
		report.line(request, `close ${code}`, socket.answers.slice(1).join() || 'gone');
		socket.end();
	}
}

/** What is none of our messages: answered with what is wrong with it, and then all goes on. */
async function misunderstood(
	report: Report,
	port: number,
	credentials: Credentials,
	session: string,
) {
	report.begin('frames that are no messages');
	const command = (command: object) => ({ type: 'command', id: 'x', session, command });
	const prompt = { type: 'prompt', text: 'x', images: [], when: 'steer' };
	const cases: [string, string | Buffer][] = [
		['nothing', ''],
		['null', 'null'],
		['[]', '[]'],
		['a number', '1e999'],
		['{"type":5}', '{"type":5}'],
		['no JSON', '{"type":"clock"'],
		['two messages', '{"type":"clock"}{"type":"clock"}'],
		['an unknown type', '{"type":"constructor"}'],
		['a type that every object has', '{"type":"__proto__"}'],
		['100 levels', '['.repeat(100) + ']'.repeat(100)],
		['100 levels in a message', `{"type":"clock","x":${'{"x":'.repeat(100)}1${'}'.repeat(100)}}`],
		['1,000,000 levels', '['.repeat(1_000_000) + ']'.repeat(1_000_000)],
		['__proto__', '{"type":"clock","__proto__":{"type":"list"}}'],
		['__proto__ for the type', '{"__proto__":{"type":"clock"}}'],
		['constructor', '{"type":"clock","constructor":{"prototype":{"pwned":1}}}'],
		[
			'__proto__ in a command',
			JSON.stringify(command({ type: 'abort' })).replace('{', '{"__proto__":{},'),
		],
		['a field that is not in it', '{"type":"list","all":true}'],
		["a record of Pi's own", JSON.stringify(command({ type: 'set_model', modelId: 'x' }))],
		["a record of Pi's own, alone", '{"type":"prompt","message":"x"}'],
		[
			'a command with more in it',
			JSON.stringify(command({ ...prompt, streamingBehavior: 'steer' })),
		],
		[
			'an image of another kind',
			JSON.stringify(command({ ...prompt, images: [{ data: '', mimeType: 'text/html' }] })),
		],
		['a number that is none', JSON.stringify({ type: 'earlier', session, before: -1 })],
		['binary', ''],
	];
	for (const [request, text] of cases) {
		const socket = await works(port, credentials);
		socket.send(request === 'binary' ? frame(BINARY, '{"type":"clock"}') : frame(TEXT, text));
		socket.send(CLOCK);
		await socket.answered((answers) => answers.filter((one) => one === 'clock').length === 2);
		report.line(request, 'bad_frame, then clock', socket.answers.slice(1).join(', then '));
		socket.end();
	}
}

async function floods(report: Report, port: number, credentials: Credentials) {
	report.begin(`${FLOOD} frames within a second`);
	const bad = await works(port, credentials);
	const wrong = Buffer.concat(Array.from({ length: FLOOD }, () => frame(TEXT, 'null')));
	bad.send(wrong);
	await bad.answered((answers) => answers.some((one) => one.startsWith('close')));
	report.line('that are no messages', '100 × bad_frame, close 1008', counted(bad));
	bad.end();

	const clocks = await works(port, credentials);
	clocks.send(Buffer.concat(Array.from({ length: FLOOD }, () => CLOCK)));
	await clocks.answered((all) => all.length > FLOOD);
	report.line('that ask for the clock', `${FLOOD} × clock`, counted(clocks));
	clocks.end();

	// Without a word, when more waits to be read than a browser would ever leave.
	for (const [request, one, answer] of [
		['that ask for the list', frame(TEXT, '{"type":"list"}'), 'sessions'],
		['that are pings', frame(PING, ''), 'pong'],
	] as const) {
		const socket = await works(port, credentials);
		socket.send(Buffer.concat(Array.from({ length: FLOOD }, () => one)));
		const all = () => socket.answers.filter((one) => one === answer).length === FLOOD;
		await socket.answered(all);
		const met = all() || socket.gone ? 'answered or cut off' : counted(socket);
		report.line(request, 'answered or cut off', met);
		socket.end();
	}
}

function counted({ answers }: RawSocket) {
	const counts = new Map<string, number>();
	for (const one of answers.slice(1)) counts.set(one, (counts.get(one) ?? 0) + 1);
	return [...counts]
		.map(([one, count]) => (one.startsWith('close') ? one : `${count} × ${one}`))
		.join(', ');
}

/** One that was let in, and answers a frame that is right. */
async function works(port: number, credentials: Credentials) {
	const socket = await RawSocket.open(port, credentials);
	socket.send(CLOCK);
	await socket.answered((answers) => answers.includes('clock'));
	return socket;
}
