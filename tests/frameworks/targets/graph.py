"""A graph of LangGraph, as the tutorials write it: a state with question, context and answer."""

from typing import Any, TypedDict

from langgraph.graph import START, MessagesState, StateGraph
from lc import model, numbered, prompt, retriever


class State(TypedDict):
    question: str
    context: list[Any]
    answer: str


def retrieve(state: State) -> dict[str, Any]:
    return {"context": retriever.invoke(state["question"])}


def generate(state: State) -> dict[str, Any]:
    given = {"context": numbered(state["context"]), "question": state["question"]}
    return {"answer": (prompt | model).invoke(given).content}


def respond(state: MessagesState) -> dict[str, Any]:
    question = state["messages"][-1].content
    found = retriever.invoke(question)
    return {"messages": [(prompt | model).invoke({"context": numbered(found), "question": question})]}


graph = StateGraph(State).add_sequence([retrieve, generate]).add_edge(START, "retrieve").compile()
chat = StateGraph(MessagesState).add_node(respond).add_edge(START, "respond").compile()
